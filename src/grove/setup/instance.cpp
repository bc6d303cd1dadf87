#include "grove/setup/instance.h"

#include "grove/network/topology.h"
#include "grove/runtime/workers.h"
#include "grove/setup/data_split.h"
#include "grove/setup/shared_instance.h"

namespace grove {
namespace {

/// What multiplies f_i so that (1/n) sum f_i weighs agents, or samples, equally.
double scale_of(Weighting weighting, std::size_t agents, Index shard, Index total) {
  if (weighting == Weighting::agent) return 1;
  return static_cast<double>(agents) * static_cast<double>(shard) / static_cast<double>(total);
}

/// The instance without its mean, and with objectives at its own agents only.
Instance lay_out(const Config& config, Graph graph, std::optional<AgentRange> own,
                 DataSplit dealt) {
  Instance instance{.graph = std::move(graph), .own = own};
  instance.labels = dealt.labels;
  instance.columns = std::move(dealt.columns);
  instance.samples = dealt.samples;
  instance.features = dealt.features;
  instance.regularizer = {.l1 = config.l1,
                          .low = config.constraint.low,
                          .high = config.constraint.high,
                          .regularized = instance.features};
  instance.objectives.resize(config.agents);
  const std::uint32_t first = instance.own_agents().first;
  Workers(static_cast<int>(config.threads)).for_each(dealt.shards.size(), [&](std::size_t k) {
    Samples& shard = dealt.shards[k];
    const ShardTerms terms{
        .loss = config.loss,
        .l2 = config.l2,
        .intercept = config.intercept,
        .scale = scale_of(config.weighting, config.agents, shard.count(), instance.samples)};
    instance.objectives[first + k] = make_shard_objective(std::move(shard), terms);
  });
  return instance;
}

Result<Instance> make_shared_instance(const Config& config, Cluster& cluster) {
  const AgentRange own = agents_of(config.agents, cluster.rank(), cluster.size());
  auto graph = make_graph(config.graph, config.agents, config.seed);
  auto dealt = config.shards.empty() ? split_data(config, own) : read_shards(config, own, cluster);
  Status status = success();
  if (!graph)
    status = graph.error();
  else if (!dealt)
    status = dealt.error();
  if (Status all = first_error(cluster, status); !all) return all.error();
  Instance instance = lay_out(config, std::move(*graph), own, std::move(*dealt));
  share(instance, cluster);
  return instance;
}

}  // namespace

Vector Instance::start() const {
  Vector nearest;
  regularizer.prox(1, Vector::Zero(dimension()), nearest);
  return nearest;
}

double Instance::objective_at(const Vector& x) const {
  ObjectiveScratch scratch;
  return mean->evaluate(x, Batch::all(), nullptr, nullptr, scratch) + regularizer.value(x);
}

Result<Instance> make_instance(const Config& config, Cluster* cluster) {
  if (cluster != nullptr) return make_shared_instance(config, *cluster);
  auto graph = make_graph(config.graph, config.agents, config.seed);
  if (!graph) return graph.error();
  auto dealt = split_data(config, {0, static_cast<std::uint32_t>(config.agents)});
  if (!dealt) return dealt.error();
  Instance instance = lay_out(config, std::move(*graph), std::nullopt, std::move(*dealt));
  std::vector<const Objective*> parts;
  parts.reserve(instance.objectives.size());
  for (const auto& objective : instance.objectives) parts.push_back(objective.get());
  instance.mean = make_mean_objective(std::move(parts), static_cast<int>(config.threads));
  return instance;
}

}  // namespace grove
