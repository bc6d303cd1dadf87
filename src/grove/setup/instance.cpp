#include "grove/setup/instance.h"

#include <algorithm>

#include "grove/network/topology.h"
#include "grove/runtime/cluster.h"
#include "grove/runtime/workers.h"
#include "grove/setup/data_split.h"
#include "grove/setup/shared_instance.h"

namespace grove {
namespace {

constexpr Index largest_metric = 500;  ///< coefficients; products with L take d^2

/// The loss of the configuration, in the units of all agents' targets.
Loss agreed_loss(const Config& config, const DataSplit& dealt, Cluster* cluster) {
  std::vector<double> scales;
  for (const Samples& shard : dealt.shards) scales.push_back(log_target_scale(shard.targets));
  return in_target_units(config.loss, cluster == nullptr ? scales : cluster->gather(scales));
}

/// The instance without its mean, and with objectives at its own agents only.
Instance lay_out(const Config& config, Graph graph, std::optional<AgentRange> own, DataSplit dealt,
                 Cluster* cluster) {
  Instance instance{.graph = std::move(graph), .own = own};
  instance.loss = agreed_loss(config, dealt, cluster);
  instance.labels = dealt.labels;
  instance.columns = std::move(dealt.columns);
  instance.samples = dealt.samples;
  instance.features = dealt.features;
  instance.regularizer = regularizer_of(config, instance.features);
  instance.objectives.resize(config.agents);
  const std::uint32_t first = instance.own_agents().first;
  Workers(static_cast<int>(config.threads)).for_each(dealt.shards.size(), [&](std::size_t k) {
    Samples& shard = dealt.shards[k];
    if (!config.dp.empty()) shorten_rows(shard, config.dp.meaning()->bound);
    const ShardTerms terms{
        .loss = instance.loss,
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
  Instance instance = lay_out(config, std::move(*graph), own, std::move(*dealt), &cluster);
  share(instance, cluster);
  // The moments of columns would be sums without noise.
  if (config.dp.empty()) set_scaling(instance, config.intercept);
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

std::shared_ptr<const Objective> Instance::scaled(
    std::shared_ptr<const Objective> objective) const {
  return scaling ? make_scaled_objective(std::move(objective), scaling) : objective;
}

Regularizer Instance::scaled_regularizer() const {
  Regularizer result = regularizer;
  if (scaling) result.units = scaling->scale;
  return result;
}

Vector Instance::to_scaled(const Vector& x) const {
  if (!scaling) return x;
  Vector result = scaling->to_scaled(x);
  const Regularizer bounds = scaled_regularizer();
  for (Index k = 0; k < bounds.regularized; ++k)
    result[k] = std::clamp(result[k], bounds.low_at(k), bounds.high_at(k));
  return result;
}

Vector Instance::to_original(const Vector& scaled) const {
  if (!scaling) return scaled;
  Vector result = scaling->to_original(scaled);
  const Regularizer bounds = scaled_regularizer();
  for (Index k = 0; k < bounds.regularized; ++k) {
    if (scaled[k] <= bounds.low_at(k)) result[k] = bounds.low;
    if (scaled[k] >= bounds.high_at(k)) result[k] = bounds.high;
    result[k] = std::clamp(result[k], bounds.low, bounds.high);
  }
  return result;
}

/// The Cholesky factor of a positive semidefinite matrix. A column that depends on those before it
/// gets a pivot of its own: along such a direction f is constant, and any metric will do.
Matrix modified_cholesky(Matrix matrix) {
  constexpr double rounding = 1e-9, share = 1e-2;  // of a diagonal entry
  const double usual = std::max(matrix.diagonal().mean(), 1e-200);
  for (Index k = 0; k < matrix.rows(); ++k) {
    const double entry = matrix(k, k) > 0 ? matrix(k, k) : usual;
    double pivot = matrix(k, k) - matrix.row(k).head(k).squaredNorm();
    if (!(pivot > rounding * entry)) pivot = share * entry;
    matrix(k, k) = std::sqrt(pivot);
    const Index below = matrix.rows() - k - 1;
    matrix.col(k).tail(below) -=
        matrix.bottomLeftCorner(below, k) * matrix.row(k).head(k).transpose();
    matrix.col(k).tail(below) /= matrix(k, k);
  }
  return matrix.triangularView<Eigen::Lower>();
}

/// From the second moments of all rows in scaled coordinates.
void set_metric(Instance& instance) {
  if (instance.dimension() > largest_metric) return;
  Matrix moments;
  instance.mean->metric(*instance.scaling, moments);
  if (!moments.allFinite()) return;
  instance.metric = std::make_shared<const Matrix>(modified_cholesky(std::move(moments)));
}

void set_scaling(Instance& instance, bool intercept) {
  if (!instance.regularizer.separable() || instance.dimension() > largest_with_matrices) return;
  const auto moments = instance.mean->column_moments();
  if (!moments || !(moments->mass > 0)) return;
  instance.scaling = std::make_shared<const ColumnScaling>(scaling_of(*moments, intercept));
  if (!moments->sparse) set_metric(instance);
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
  Instance instance = lay_out(config, std::move(*graph), std::nullopt, std::move(*dealt), nullptr);
  std::vector<const Objective*> parts;
  parts.reserve(instance.objectives.size());
  for (const auto& objective : instance.objectives) parts.push_back(objective.get());
  instance.mean = make_mean_objective(std::move(parts), static_cast<int>(config.threads));
  // The moments of columns would be sums without noise.
  if (config.dp.empty()) set_scaling(instance, config.intercept);
  return instance;
}

}  // namespace grove
