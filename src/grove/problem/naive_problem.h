#pragma once

// The oracle of the tests in this folder: the formulas of math.md, section 1, by plain loops in
// extended precision, and random shards to try them on. Shares no code with the library.

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "grove/base/random.h"
#include "grove/data/samples.h"
#include "grove/problem/objective.h"

namespace grove::naive {

using Real = long double;

struct Derivatives {
  Real value, slope, second_derivative;
};

inline Derivatives loss_at(const Loss& loss, Real m, Real y) {
  if (std::holds_alternative<LogisticLoss>(loss)) {
    const Real one = 1 / (1 + std::exp(-m)), zero = 1 / (1 + std::exp(m));
    return {std::log1p(std::exp(m)) - y * m, y == 1 ? -zero : one, one * zero};
  }
  const Real distance = std::abs(m - y);
  if (const auto* huber = std::get_if<HuberLoss>(&loss); huber && distance > huber->delta) {
    const Real delta = huber->delta;
    return {delta * distance - delta * delta / 2, m > y ? delta : -delta, 0};
  }
  return {distance * distance / 2, m - y, 1};
}

struct Problem {
  std::vector<std::vector<double>> rows;
  std::vector<double> targets;
  ShardTerms terms;

  Index features() const { return static_cast<Index>(rows.front().size()); }
  Index dimension() const { return features() + (terms.intercept ? 1 : 0); }

  Real entry(std::size_t row, Index column) const {
    return column == features() ? 1 : rows[row][column];
  }

  /// The sum over all rows, or over the listed ones.
  struct Sums {
    Real value = 0;
    std::vector<Real> gradient;
    std::vector<std::vector<Real>> hessian;
  };

  Sums at(const Vector& x, std::vector<std::uint32_t> batch = {}) const {
    if (batch.empty())
      for (std::uint32_t row = 0; row < rows.size(); ++row) batch.push_back(row);
    const Index d = dimension();
    Sums sums{0, std::vector<Real>(d), std::vector<std::vector<Real>>(d, std::vector<Real>(d))};
    const Real weight = Real{terms.scale} / static_cast<Real>(batch.size());
    for (const std::uint32_t row : batch) {
      Real margin = 0;
      for (Index k = 0; k < d; ++k) margin += entry(row, k) * x[k];
      const Derivatives point = loss_at(terms.loss, margin, targets[row]);
      sums.value += weight * point.value;
      for (Index k = 0; k < d; ++k) {
        sums.gradient[k] += weight * point.slope * entry(row, k);
        for (Index j = 0; j < d; ++j)
          sums.hessian[k][j] += weight * point.second_derivative * entry(row, k) * entry(row, j);
      }
    }
    for (Index k = 0; k < features(); ++k) {
      const Real penalty = Real{terms.scale} * terms.l2;
      sums.value += penalty * x[k] * x[k] / 2;
      sums.gradient[k] += penalty * x[k];
      sums.hessian[k][k] += penalty;
    }
    return sums;
  }

  Samples samples(bool sparse) const {
    const Index count = static_cast<Index>(rows.size());
    Samples result{DenseRows(count, features()), Vector(count)};
    auto& dense = std::get<DenseRows>(result.features);
    for (Index row = 0; row < count; ++row) {
      result.targets[row] = targets[row];
      for (Index column = 0; column < features(); ++column) dense(row, column) = rows[row][column];
    }
    if (sparse) result.features = SparseRows(DenseRows(dense).sparseView(1, 0));
    return result;
  }

  std::unique_ptr<const Objective> objective(bool sparse) const {
    return make_shard_objective(samples(sparse), terms);
  }

  std::unique_ptr<const Objective> objective(bool sparse, const kernels::Kernels& kernels) const {
    return make_shard_objective(samples(sparse), terms, kernels);
  }
};

struct Shape {
  std::uint32_t rows;
  Index features;
  double density = 1;  ///< share of entries that are not zero
  double scale = 1;    ///< of the entries
  std::uint64_t seed = 1;
};

/// Normal entries; targets are noisy labels or numbers of a random linear model.
inline Problem random_problem(const Shape& shape, const ShardTerms& terms) {
  KeyedRandom random({.seed = shape.seed, .purpose = Purpose::synthetic});
  Problem problem{.rows = {}, .targets = {}, .terms = terms};
  std::vector<double> truth(shape.features);
  for (double& weight : truth) weight = random.normal();
  for (std::uint32_t row = 0; row < shape.rows; ++row) {
    std::vector<double> entries(shape.features);
    double margin = random.normal();
    for (Index k = 0; k < shape.features; ++k) {
      const double entry = random.normal();
      entries[k] = random.uniform() < shape.density ? shape.scale * entry : 0.0;
      margin += truth[k] * entries[k];
    }
    problem.targets.push_back(is_classification(terms.loss) ? (margin > 0 ? 1.0 : 0.0) : margin);
    problem.rows.push_back(std::move(entries));
  }
  return problem;
}

inline Vector random_point(Index dimension, double scale, std::uint64_t seed) {
  KeyedRandom random({.seed = seed, .purpose = Purpose::synthetic, .agent = 1});
  Vector x(dimension);
  for (double& value : x) value = scale * random.normal();
  return x;
}

inline std::vector<Loss> every_loss() { return {LogisticLoss{}, SquaredLoss{}, HuberLoss{0.7}}; }

}  // namespace grove::naive
