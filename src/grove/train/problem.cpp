#include "grove/train/problem.h"

#include <cmath>

#include <fmt/format.h>

#include "grove/data/dataset.h"
#include "grove/data/labels.h"
#include "grove/network/topology.h"
#include "grove/runtime/cluster.h"
#include "grove/runtime/workers.h"
#include "grove/setup/shared_instance.h"

namespace grove {
namespace {

Status not_finite(Index row) {
  return Error{fmt::format("features, row {}", row), "is not finite; expected numbers"};
}

Status check_features(const DenseView& view) {
  if (view.stride != 0 && view.stride < view.columns)
    return Error{"features", fmt::format("the stride is {}; expected 0, or at least the {} columns",
                                         view.stride, view.columns)};
  for (Index row = 0; row < view.rows; ++row)
    if (!Eigen::Map<const Vector>(view.row(row), view.columns).allFinite()) return not_finite(row);
  return success();
}

Status check_features(const CsrView& view) {
  if (view.offsets[0] != 0)
    return Error{"features", fmt::format("offsets begin with {}; expected 0", view.offsets[0])};
  for (Index row = 0; row < view.rows; ++row) {
    const std::int32_t begin = view.offsets[row], end = view.offsets[row + 1];
    if (begin > end) return Error{fmt::format("features, row {}", row), "ends before it begins"};
    for (std::int32_t k = begin; k < end; ++k) {
      const std::int32_t column = view.indices[k];
      if (column < 0 || column >= view.columns || (k > begin && view.indices[k - 1] >= column))
        return Error{fmt::format("features, row {}", row),
                     fmt::format("has an entry in column {}; expected columns from 0 to {}, "
                                 "ascending",
                                 column, view.columns - 1)};
      if (!std::isfinite(view.values[k])) return not_finite(row);
    }
  }
  return success();
}

/// Targets as the loss takes them, and what its two classes are called.
Result<std::optional<LabelNames>> map_labels(const Loss& loss, Vector& targets) {
  if (!is_classification(loss)) return std::optional<LabelNames>();
  auto labels = find_labels("targets", targets);
  if (!labels) return labels.error();
  for (double& target : targets) target = target == labels->positive ? 1 : 0;
  return std::optional(*labels);
}

void add_mean(Instance& instance, std::uint64_t threads, Cluster* cluster) {
  if (cluster != nullptr) return share(instance, *cluster);
  std::vector<const Objective*> parts;
  parts.reserve(instance.objectives.size());
  for (const auto& objective : instance.objectives) parts.push_back(objective.get());
  instance.mean = make_mean_objective(std::move(parts), static_cast<int>(threads));
}

Status fill_from_samples(Instance& instance, const FeatureView& features, Vector targets,
                         const Options& options) {
  auto labels = map_labels(options.loss, targets);
  if (!labels) return labels.error();
  instance.labels = *labels;
  for (Index row = 0; row < targets.size(); ++row)
    if (const auto complaint = target_complaint(options.loss, targets[row]))
      return Error{fmt::format("targets, row {}", row), *complaint};
  instance.samples = targets.size();
  instance.features = std::visit([](const auto& view) { return view.columns; }, features);
  auto shards = partition(targets, options.partition, options.agents, options.seed);
  if (!shards) return shards.error();
  const AgentRange own = instance.own_agents();
  Workers(static_cast<int>(options.threads)).for_each(own.size(), [&](std::size_t k) {
    std::vector<std::uint32_t>& rows = (*shards)[own.first + k];
    Vector own_targets(static_cast<Index>(rows.size()));
    for (std::size_t j = 0; j < rows.size(); ++j)
      own_targets[static_cast<Index>(j)] = targets[rows[j]];
    const ShardTerms terms{.loss = options.loss,
                           .l2 = options.l2,
                           .intercept = options.intercept,
                           .scale = shard_scale(options.weighting, options.agents,
                                                own_targets.size(), instance.samples)};
    instance.objectives[own.first + k] =
        make_shard_objective(features, std::move(rows), std::move(own_targets), terms);
  });
  return success();
}

}  // namespace

Result<Problem> Problem::from_samples(const FeatureView& features,
                                      std::span<const double> targets) {
  const Index rows = std::visit([](const auto& view) { return view.rows; }, features);
  const Index columns = std::visit([](const auto& view) { return view.columns; }, features);
  if (rows < 1 || columns < 1)
    return Error{"features", fmt::format("expected at least one row and one column, found {} x {}",
                                         rows, columns)};
  if (static_cast<Index>(targets.size()) != rows)
    return Error{"targets", fmt::format("expected one for each of the {} rows, found {}", rows,
                                        targets.size())};
  if (Status status = std::visit([](const auto& view) { return check_features(view); }, features);
      !status)
    return status.error();
  Vector copy = Eigen::Map<const Vector>(targets.data(), rows);
  if (!copy.allFinite()) return Error{"targets", "are not all finite; expected numbers"};
  return Problem(SampleData{features, std::move(copy)});
}

Result<Problem> Problem::from_objectives(Objectives objectives) {
  if (objectives.empty()) return Error{"objectives", "expected at least one, found none"};
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    if (!objectives[i]) return Error{fmt::format("objective {}", i), "is null"};
    if (objectives[i]->dimension() != objectives[0]->dimension())
      return Error{fmt::format("objective {}", i),
                   fmt::format("has {} coefficients; expected {}, as objective 0 has",
                               objectives[i]->dimension(), objectives[0]->dimension())};
  }
  return Problem(std::move(objectives));
}

std::size_t Problem::agents() const {
  const auto* objectives = std::get_if<Objectives>(&content_);
  return objectives ? objectives->size() : 0;
}

Result<Options> options_for(const Problem& problem, Options options) {
  const Options usual;
  if (options.data != usual.data && options.data != "memory")
    return Error{"data", fmt::format("the problem has its data; leave it, found {}", options.data)};
  if (!options.shards.empty()) return Error{"shards", "the problem has its data; leave it empty"};
  if (options.samples != 0) return Error{"samples", "the problem has its data; leave it at 0"};
  options.data = "memory";
  if (problem.agents() == 0) return options;
  if ((options.agents_given || options.agents != usual.agents) &&
      options.agents != problem.agents())
    return Error{"agents", fmt::format("the problem has objectives of {} agents, found {}",
                                       problem.agents(), options.agents)};
  options.agents = problem.agents();
  options.agents_given = true;
  return options;
}

Result<PreparedProblem> prepare(const Problem& problem, const Options& given, Cluster* cluster) {
  auto options = options_for(problem, given);
  if (!options) return options.error();
  if (Status status = bind_to_cluster(*options, cluster); !status) return status.error();
  if (Status status = check(*options); !status) return status.error();
  auto graph = make_graph(options->graph, options->agents, options->seed);
  if (!graph) return graph.error();
  Instance instance{.graph = std::move(*graph)};
  if (cluster != nullptr)
    instance.own = agents_of(options->agents, cluster->rank(), cluster->size());
  instance.objectives.resize(options->agents);
  if (const auto* objectives = std::get_if<Problem::Objectives>(&problem.content_)) {
    instance.objectives = *objectives;
    for (const auto& objective : *objectives) instance.samples += objective->samples();
    instance.features = objectives->front()->dimension();
  } else {
    const auto& data = std::get<Problem::SampleData>(problem.content_);
    if (Status status = fill_from_samples(instance, data.features, data.targets, *options); !status)
      return status.error();
  }
  instance.regularizer = regularizer_of(*options, instance.features);
  add_mean(instance, options->threads, cluster);
  return prepare(*options, std::move(instance));
}

Result<RunRecord> run(const Problem& problem, const Options& given, const RunHooks& hooks,
                      Cluster* cluster) {
  auto options = options_for(problem, given);
  if (!options) return options.error();
  if (Status status = bind_to_cluster(*options, cluster); !status) return status.error();
  const auto prepared = prepare(problem, *options, cluster);
  if (!prepared) return prepared.error();
  return run_prepared(*options, *prepared, hooks, cluster);
}

}  // namespace grove
