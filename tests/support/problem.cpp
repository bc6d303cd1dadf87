#include "support/problem.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "grove/data/dataset.h"
#include "grove/network/topology.h"

namespace grove::testing_support {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The value, or an exception that GoogleTest reports: a test's own set-up must not fail.
template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text());
  return std::move(*result);
}

/// The interval of subgradients of l1 |u| + indicator(low <= u <= high) at u.
struct Interval {
  double low, high;
};
Interval subdifferential(const Regularizer& r, double u) {
  Interval slopes{u > 0 ? r.l1 : -r.l1, u < 0 ? -r.l1 : r.l1};
  if (u == r.low) slopes.low = -infinity;
  if (u == r.high) slopes.high = infinity;
  return slopes;
}

}  // namespace

Index Problem::dimension() const { return shards[0].dimension() + (terms.intercept ? 1 : 0); }

Instance Problem::instance() const {
  Instance result{.graph = graph};
  result.features = shards[0].dimension();
  result.regularizer = regularizer;
  if (is_classification(terms.loss)) result.labels = LabelNames{};
  std::vector<const Objective*> parts;
  for (const Samples& shard : shards) {
    result.samples += shard.count();
    result.objectives.push_back(make_shard_objective(shard, terms));
    parts.push_back(result.objectives.back().get());
  }
  result.mean = make_mean_objective(std::move(parts));
  return result;
}

PreparedProblem Problem::prepared() const {
  PreparedProblem result{.instance = instance(), .reference = {}, .notes = {}};
  result.reference = must(solve_reference(*result.instance.mean, regularizer));
  return result;
}

Problem make_problem(const ProblemOptions& options) {
  const auto kind =
      is_classification(options.terms.loss) ? TargetKind::two_classes : TargetKind::number;
  const std::string source = "synthetic:gaussian,samples=" + std::to_string(options.samples) +
                             ",features=" + std::to_string(options.features);
  const Dataset data = must(load_dataset(source, kind, options.seed));
  Problem problem{
      .graph = must(make_graph(options.graph, options.agents, options.seed)),
      .shards = {},
      .terms = options.terms,
      .regularizer = {.l1 = options.l1,
                      .low = options.constraint.low,
                      .high = options.constraint.high,
                      .regularized = data.samples.dimension()},
  };
  for (const auto& rows : must(partition(data.samples, "stride", options.agents, options.seed)))
    problem.shards.push_back(take_rows(data.samples, rows));
  return problem;
}

Graph graph_of(std::size_t agents, const std::vector<std::pair<unsigned, unsigned>>& edges) {
  std::vector<Edge> list;
  for (const auto& [i, j] : edges) list.emplace_back(AgentId{i}, AgentId{j});
  return must(Graph::from_edges(agents, std::move(list), "test"));
}

Vector row_of(const Problem& problem, std::size_t agent, Index row) {
  Vector result = Vector::Zero(problem.dimension());
  for_each_nonzero(problem.shards[agent], row, [&](Index k, double value) { result[k] = value; });
  if (problem.terms.intercept) result[result.size() - 1] = 1;
  return result;
}

double plain_slope(const Loss& loss, double margin, double target) {
  if (std::holds_alternative<LogisticLoss>(loss)) return 1 / (1 + std::exp(-margin)) - target;
  const double residual = margin - target;
  if (std::holds_alternative<SquaredLoss>(loss)) return residual;
  const double delta = std::get<HuberLoss>(loss).delta;
  return std::max(-delta, std::min(delta, residual));
}

double plain_second_derivative(const Loss& loss, double margin, double target) {
  if (std::holds_alternative<LogisticLoss>(loss)) {
    const double probability = 1 / (1 + std::exp(-margin));
    return probability * (1 - probability);
  }
  if (std::holds_alternative<SquaredLoss>(loss)) return 1;
  return std::abs(margin - target) <= std::get<HuberLoss>(loss).delta ? 1 : 0;
}

Vector plain_gradient(const Problem& problem, std::size_t agent, const Vector& x) {
  const Samples& shard = problem.shards[agent];
  Vector sum = Vector::Zero(problem.dimension());
  for (Index j = 0; j < shard.count(); ++j) {
    const Vector row = row_of(problem, agent, j);
    sum += plain_slope(problem.terms.loss, row.dot(x), shard.targets[j]) * row;
  }
  sum /= static_cast<double>(shard.count());
  for (Index k = 0; k < shard.dimension(); ++k) sum[k] += problem.terms.l2 * x[k];
  return problem.terms.scale * sum;
}

Matrix plain_hessian(const Problem& problem, std::size_t agent, const Vector& x) {
  const Samples& shard = problem.shards[agent];
  Matrix sum = Matrix::Zero(problem.dimension(), problem.dimension());
  for (Index j = 0; j < shard.count(); ++j) {
    const Vector row = row_of(problem, agent, j);
    sum += plain_second_derivative(problem.terms.loss, row.dot(x), shard.targets[j]) * row *
           row.transpose();
  }
  sum /= static_cast<double>(shard.count());
  for (Index k = 0; k < shard.dimension(); ++k) sum(k, k) += problem.terms.l2;
  return problem.terms.scale * sum;
}

double optimality_violation(const Problem& problem, const Vector& x) {
  Vector gradient = Vector::Zero(x.size());
  for (std::size_t i = 0; i < problem.agents(); ++i) gradient += plain_gradient(problem, i, x);
  gradient /= static_cast<double>(problem.agents());
  double worst = 0;
  for (Index k = 0; k < x.size(); ++k) {
    Interval slopes{0, 0};
    if (k < problem.regularizer.regularized) {
      if (x[k] < problem.regularizer.low || x[k] > problem.regularizer.high) return infinity;
      slopes = subdifferential(problem.regularizer, x[k]);
    }
    worst = std::max({worst, slopes.low + gradient[k], -gradient[k] - slopes.high});
  }
  return worst;
}

}  // namespace grove::testing_support
