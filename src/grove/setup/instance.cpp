#include "grove/setup/instance.h"

#include "grove/network/topology.h"
#include "grove/runtime/cluster.h"
#include "grove/runtime/workers.h"
#include "grove/setup/data_split.h"
#include "grove/setup/shared_instance.h"

namespace grove {
namespace {

/// The instance without its mean, and with objectives at its own agents only.
Instance lay_out(const Config& config, Graph graph, std::optional<AgentRange> own,
                 DataSplit dealt) {
  Instance instance{.graph = std::move(graph), .own = own};
  instance.labels = dealt.labels;
  instance.columns = std::move(dealt.columns);
  instance.samples = dealt.samples;
  instance.features = dealt.features;
  instance.regularizer = regularizer_of(config, instance.features);
  instance.objectives.resize(config.agents);
  const std::uint32_t first = instance.own_agents().first;
  Workers(static_cast<int>(config.threads)).for_each(dealt.shards.size(), [&](std::size_t k) {
    Samples& shard = dealt.shards[k];
    const ShardTerms terms{
        .loss = config.loss,
        .l2 = config.l2,
        .intercept = config.intercept,
        .scale = shard_scale(config.weighting, config.agents, shard.count(), instance.samples)};
    instance.objectives[first + k] = make_shard_objective(std::move(shard), terms);
  });
  return instance;
}

Result<Instance> make_shared_instance(const Config& config, Cluster& cluster) {
  const AgentRange own = agents_of(config.agents, cluster.rank(), cluster.size());
  auto dealt = config.shards.empty() ? split_data(config, own) : read_shards(config, own, cluster);
  auto graph = make_graph(config.graph, config.agents, config.seed);
  Status status = success();
  if (!dealt)
    status = dealt.error();
  else if (!graph)
    status = graph.error();
  if (Status all = first_error(cluster, status); !all) return all.error();
  Instance instance = lay_out(config, std::move(*graph), own, std::move(*dealt));
  share(instance, cluster);
  return instance;
}

}  // namespace

double shard_scale(Weighting weighting, std::size_t agents, Index shard, Index total) {
  if (weighting == Weighting::agent) return 1;
  return static_cast<double>(agents) * static_cast<double>(shard) / static_cast<double>(total);
}

Vector Instance::start() const {
  Vector nearest;
  Regularizer bounds = regularizer;
  bounds.l1 = initial ? 0 : bounds.l1;  // a start that was given keeps its coordinates
  bounds.prox(1, initial.value_or(Vector::Zero(dimension())), nearest);
  return nearest;
}

double Instance::objective_at(const Vector& x) const {
  ObjectiveScratch scratch;
  return mean->evaluate(x, Batch::all(), nullptr, nullptr, scratch) + regularizer.value(x);
}

Regularizer regularizer_of(const ModelOptions& options, Index features) {
  const Constraint& bounds = options.constraint;
  Regularizer result{
      .l1 = options.l1, .low = bounds.low, .high = bounds.high, .regularized = features};
  if (!options.regularizer) return result;
  if (const auto form = options.regularizer->term->separable()) {
    result.l1 = form->l1;
    result.low = form->low;
    result.high = form->high;
  } else {
    result.term = options.regularizer->term;
  }
  return result;
}

Result<Instance> make_instance(const Config& config, Cluster* cluster) {
  if (cluster != nullptr) return make_shared_instance(config, *cluster);
  // Data first: they bound the number of agents, and a graph grows with its square.
  auto dealt = split_data(config, {0, static_cast<std::uint32_t>(config.agents)});
  if (!dealt) return dealt.error();
  auto graph = make_graph(config.graph, config.agents, config.seed);
  if (!graph) return graph.error();
  Instance instance = lay_out(config, std::move(*graph), std::nullopt, std::move(*dealt));
  std::vector<const Objective*> parts;
  parts.reserve(instance.objectives.size());
  for (const auto& objective : instance.objectives) parts.push_back(objective.get());
  instance.mean = make_mean_objective(std::move(parts), static_cast<int>(config.threads));
  return instance;
}

}  // namespace grove
