#include "grove/train/problem.h"

#include <cmath>

#include <fmt/format.h>

#include "grove/data/dataset.h"
#include "grove/data/labels.h"
#include "grove/network/topology.h"
#include "grove/problem/multinomial.h"
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

Vector chosen(const Vector& numbers, const std::vector<std::uint32_t>& rows) {
  Vector result(numbers.size() > 0 ? static_cast<Index>(rows.size()) : 0);
  for (Index k = 0; k < result.size(); ++k) result[k] = numbers[rows[static_cast<std::size_t>(k)]];
  return result;
}

/// Features of up to this size are packed by agent for the time of a run. Left where they are, the
/// rows of an agent are gathered in every pass: a run on ijcnn1 takes twice the processor time.
constexpr Index largest_packed_bytes = Index{64} << 20;

Index bytes_of(const DenseView& view) {
  return view.rows * view.columns * static_cast<Index>(sizeof(double));
}

Index bytes_of(const CsrView& view) {
  return view.offsets[view.rows] * static_cast<Index>(sizeof(double) + sizeof(std::int32_t));
}

Features packed(const DenseView& view, const std::vector<std::uint32_t>& rows) {
  DenseRows result(static_cast<Index>(rows.size()), view.columns);
  for (std::size_t k = 0; k < rows.size(); ++k)
    std::copy_n(view.row(rows[k]), view.columns,
                result.data() + static_cast<Index>(k) * view.columns);
  return result;
}

Features packed(const CsrView& view, const std::vector<std::uint32_t>& rows) {
  SparseRows result(static_cast<Index>(rows.size()), view.columns);
  Index entries = 0;
  for (const std::uint32_t row : rows) entries += view.offsets[row + 1] - view.offsets[row];
  result.reserve(entries);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const auto to = static_cast<Index>(k);
    result.startVec(to);
    for (std::int32_t at = view.offsets[rows[k]]; at < view.offsets[rows[k] + 1]; ++at)
      result.insertBack(to, view.indices[at]) = view.values[at];
  }
  result.finalize();
  return result;
}

std::unique_ptr<const Objective> objective_over(const FeatureView& features,
                                                std::vector<std::uint32_t> rows, Vector targets,
                                                const ShardTerms& terms) {
  const auto pack = [&](const auto& view) {
    return bytes_of(view) <= largest_packed_bytes ? std::optional(packed(view, rows))
                                                  : std::nullopt;
  };
  if (auto own = std::visit(pack, features))
    return make_shard_objective(Samples{std::move(*own), std::move(targets)}, terms);
  return make_shard_objective(features, std::move(rows), std::move(targets), terms);
}

/// Of mean 1, so that the objective is a mean over samples as it is without weights.
Result<Vector> normalized_weights(std::span<const double> given, Index rows) {
  if (given.empty()) return Vector();
  if (static_cast<Index>(given.size()) != rows)
    return Error{"weights",
                 fmt::format("expected one for each of the {} rows, found {}", rows, given.size())};
  Vector weights = Eigen::Map<const Vector>(given.data(), rows);
  if (!weights.allFinite() || weights.minCoeff() < 0)
    return Error{"weights", "expected numbers of at least 0"};
  const double sum = weights.sum();
  if (!(sum > 0)) return Error{"weights", "are all 0; expected a row with a positive weight"};
  return Vector(weights * (static_cast<double>(rows) / sum));
}

Status check_classes(const Vector& targets, Index classes) {
  if (classes == 1 || classes < 0)
    return Error{"classes", fmt::format("expected at least 2, found {}", classes)};
  for (Index row = 0; classes > 0 && row < targets.size(); ++row)
    if (!(targets[row] >= 0 && targets[row] < static_cast<double>(classes)) ||
        targets[row] != std::floor(targets[row]))
      return Error{
          fmt::format("targets, row {}", row),
          fmt::format("expected a class from 0 to {}, found {}", classes - 1, targets[row])};
  return success();
}

}  // namespace

Status Problem::fill_from_samples(Instance& instance, const SampleData& data,
                                  const Options& options) {
  Vector targets = data.targets;
  if (data.classes == 0) {
    auto labels = map_labels(options.loss, targets);
    if (!labels) return labels.error();
    instance.labels = *labels;
    for (Index row = 0; row < targets.size(); ++row)
      if (const auto complaint = target_complaint(options.loss, targets[row]))
        return Error{fmt::format("targets, row {}", row), *complaint};
  }
  instance.samples = targets.size();
  instance.features = std::visit([](const auto& view) { return view.columns; }, data.features);
  auto shards = partition(targets, options.partition, options.agents, options.seed);
  if (!shards) return shards.error();
  std::vector<double> scales;
  for (const auto& rows : *shards) scales.push_back(log_target_scale(chosen(targets, rows)));
  instance.loss = in_target_units(options.loss, scales);
  const AgentRange own = instance.own_agents();
  Workers(static_cast<int>(options.threads)).for_each(own.size(), [&](std::size_t k) {
    std::vector<std::uint32_t>& rows = (*shards)[own.first + k];
    Vector own_targets = chosen(targets, rows);
    ShardTerms terms{.loss = instance.loss,
                     .l2 = options.l2,
                     .intercept = options.intercept,
                     .scale = shard_scale(options.weighting, options.agents, own_targets.size(),
                                          instance.samples),
                     .weights = chosen(data.weights, rows)};
    instance.objectives[own.first + k] =
        data.classes > 0
            ? make_symmetric_multinomial_objective(data.features, std::move(rows),
                                                   std::move(own_targets), data.classes, terms)
            : objective_over(data.features, std::move(rows), std::move(own_targets), terms);
  });
  if (data.classes > 0) instance.features *= data.classes;
  return success();
}

Result<Problem> Problem::from_samples(const FeatureView& features, std::span<const double> targets,
                                      const SampleDetails& details) {
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
  auto weights = normalized_weights(details.weights, rows);
  if (!weights) return weights.error();
  if (Status status = check_classes(copy, details.classes); !status) return status.error();
  return Problem(SampleData{features, std::move(copy), std::move(*weights), details.classes});
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
    if (Status status = Problem::fill_from_samples(instance, data, *options); !status)
      return status.error();
  }
  instance.regularizer = regularizer_of(*options, instance.features);
  add_mean(instance, options->threads, cluster);
  set_scaling(instance, options->intercept);
  if (problem.start_ && problem.start_->size() != instance.dimension())
    return Error{"start", fmt::format("expected {} coefficients, found {}", instance.dimension(),
                                      problem.start_->size())};
  instance.initial = problem.start_;
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
