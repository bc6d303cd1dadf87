#include "grove/run/instance.h"

#include "grove/data/dataset.h"
#include "grove/network/topology.h"

namespace grove {
namespace {

/// What multiplies f_i so that (1/n) sum f_i weighs agents, or samples, equally.
double scale_of(Weighting weighting, std::size_t agents, std::size_t shard, Index total) {
  if (weighting == Weighting::agent) return 1;
  return static_cast<double>(agents) * static_cast<double>(shard) / static_cast<double>(total);
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

Result<Instance> make_instance(const Config& config) {
  auto graph = make_graph(config.graph, config.agents, config.seed);
  if (!graph) return graph.error();
  const auto kind = is_classification(config.loss) ? TargetKind::two_classes : TargetKind::number;
  auto loaded = load_dataset(config.data, kind, config.seed, config.label_column);
  if (!loaded) return loaded.error();
  auto dataset = subsample(std::move(*loaded), config.samples, config.seed);
  if (!dataset) return dataset.error();
  const auto shards = partition(dataset->samples, config.partition, config.agents, config.seed);
  if (!shards) return shards.error();

  Instance instance{.graph = std::move(*graph)};
  instance.labels = dataset->labels;
  instance.samples = dataset->samples.count();
  instance.features = dataset->samples.dimension();
  instance.regularizer = {.l1 = config.l1,
                          .low = config.constraint.low,
                          .high = config.constraint.high,
                          .regularized = instance.features};
  std::vector<const Objective*> parts;
  for (const auto& rows : *shards) {
    const ShardTerms terms{
        .loss = config.loss,
        .l2 = config.l2,
        .intercept = config.intercept,
        .scale = scale_of(config.weighting, config.agents, rows.size(), instance.samples)};
    instance.objectives.push_back(make_shard_objective(take_rows(dataset->samples, rows), terms));
    parts.push_back(instance.objectives.back().get());
  }
  instance.mean = make_mean_objective(std::move(parts));
  return instance;
}

}  // namespace grove
