// Stored symmetric matrices beside Eigen, and local Newton steps with a stored Hessian beside the
// same by products alone.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <Eigen/Cholesky>

#include "grove/base/random.h"
#include "grove/local/proximal_newton.h"
#include "grove/problem/symmetric.h"
#include "kernels.h"

namespace grove::bench {
namespace {

Matrix positive_definite(Index dimension) {
  const DenseRows rows = made_up_rows(dimension + 8, dimension);
  Matrix matrix = rows.transpose() * rows;
  matrix.diagonal().array() += 0.1;
  return matrix;
}

std::vector<Row> symmetric_rows_of(Index dimension) {
  const Matrix matrix = positive_definite(dimension);
  Matrix made = matrix, room;
  factorize_cholesky(made);
  const Matrix& factor = made;
  const Vector right = Vector::Constant(dimension, 0.1);
  Vector result = right;
  const std::vector<double> seconds =
      contest(dimension < 500 ? 50 : 7, {[&] {
                                           room = matrix;
                                           Eigen::LLT<Eigen::Ref<Matrix>> done(room);
                                         },
                                         [&] {
                                           room = matrix;
                                           factorize_cholesky(room);
                                         },
                                         [&] { result.noalias() = matrix * right; },
                                         [&] {
                                           result.setZero();
                                           add_symmetric_product(matrix, right, result);
                                         },
                                         [&] {
                                           result = right;
                                           const auto lower = factor.triangularView<Eigen::Lower>();
                                           lower.solveInPlace(result);
                                           lower.transpose().solveInPlace(result);
                                         },
                                         [&] {
                                           result = right;
                                           solve_cholesky(factor, result);
                                         }});
  return {
      {fmt::format("Cholesky, d = {}: speed over Eigen", dimension), seconds[0] / seconds[1], "x"},
      {"  time", seconds[1] * 1e6, "us"},
      {"  product with the matrix: speed over Eigen", seconds[2] / seconds[3], "x"},
      {"  time", seconds[3] * 1e6, "us"},
      {"  solve with the factor: speed over Eigen", seconds[4] / seconds[5], "x"},
      {"  time", seconds[5] * 1e6, "us"}};
}

/// A shard whose columns differ in scale by up to `spread`.
struct ShardShape {
  Index rows, columns;
  double density, spread;
};

std::unique_ptr<const Objective> made_up_objective(const ShardShape& shape) {
  KeyedRandom random({.seed = 4, .purpose = Purpose::synthetic});
  const auto number = [&](Index column) {
    const double share = static_cast<double>(column) / static_cast<double>(shape.columns);
    return random.normal() * std::pow(shape.spread, -share);
  };
  Samples samples{DenseRows(), Vector(shape.rows)};
  for (Index k = 0; k < shape.rows; ++k) samples.targets[k] = random.uniform() < 0.5 ? 0 : 1;
  if (shape.density == 1) {
    DenseRows rows(shape.rows, shape.columns);
    for (Index k = 0; k < shape.rows; ++k)
      for (Index c = 0; c < shape.columns; ++c) rows(k, c) = number(c);
    samples.features = std::move(rows);
  } else {
    SparseRows rows(shape.rows, shape.columns);
    for (Index k = 0; k < shape.rows; ++k) {
      rows.startVec(k);
      for (Index c = 0; c < shape.columns; ++c)
        if (random.uniform() < shape.density) rows.insertBack(k, c) = number(c);
    }
    rows.finalize();
    samples.features = std::move(rows);
  }
  return make_shard_objective(std::move(samples), {});
}

/// Seconds of two activations of five local steps, as an agent would make them.
double seconds_of_steps(const Objective& objective, bool stored) {
  const Vector start = Vector::Zero(objective.dimension());
  const NewtonSteps options{.largest_stored = stored ? objective.dimension() : 0};
  Workspace workspace;
  workspace.fit(objective.dimension());
  Cost cost;
  const Regularizer none;
  return contest(3, {[&] {
                   ProximalNewton solver(options, objective);
                   workspace.point = start;
                   for (Round round = 1; round <= 2; ++round)
                     solver.solve({.objective = objective,
                                   .anchor = start,
                                   .coupling_gradient = start,
                                   .center_weight = {.scalar = 1e-3},
                                   .penalty_sum = {.scalar = 1e-3},
                                   .regularizer = none},
                                  {.activation = {round, 5}}, workspace, cost);
                 }})[0];
}

}  // namespace

std::vector<Row> symmetric_rows() {
  std::vector<Row> rows;
  for (const Index dimension : {22, 123, 300, 784}) {
    const std::vector<Row> more = symmetric_rows_of(dimension);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

std::vector<Row> system_rows() {
  std::vector<Row> rows;
  for (const Index columns : {50, 100, 200, 300, 500, 1000})
    for (const auto& [count, density] : {std::pair{1000, 1.0}, {4000, 0.05}, {4000, 0.01}})
      for (const double spread : {1.0, 100.0}) {
        const auto objective = made_up_objective({count, columns, density, spread});
        rows.push_back(
            {fmt::format("Newton steps, d = {}, {} rows, {} % non-zeros, scales 1 to 1/{}: by "
                         "products over stored",
                         columns, count, 100 * density, spread),
             seconds_of_steps(*objective, false) / seconds_of_steps(*objective, true), "x"});
      }
  return rows;
}

}  // namespace grove::bench
