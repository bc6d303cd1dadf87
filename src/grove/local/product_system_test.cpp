#include "grove/local/product_system.h"

#include <cmath>

#include <gtest/gtest.h>
#include <Eigen/QR>

#include "grove/base/random.h"
#include "grove/local/local_solver.h"

namespace grove {
namespace {

/// Random rows with about four non-zeros each, classes at random.
struct Shard {
  Shard(Index count, Index dimension) : rows(count, dimension), targets(count) {
    KeyedRandom random(RandomKey{.seed = 3, .purpose = Purpose::synthetic});
    std::vector<Eigen::Triplet<double>> entries;
    for (Index j = 0; j < count; ++j) {
      targets[j] = random.uniform() < 0.5 ? 0 : 1;
      for (int k = 0; k < 4; ++k)
        entries.emplace_back(j, static_cast<Index>(random.below(dimension)), random.normal());
    }
    rows.setFromTriplets(entries.begin(), entries.end());
    objective = make_shard_objective({rows, targets}, {.loss = LogisticLoss{}, .l2 = 0.01});
  }

  // By plain loops over dense copies of the rows.
  double probability(Index j, const Vector& v) const {
    return 1 / (1 + std::exp(-Vector(rows.row(j).transpose()).dot(v)));
  }
  Vector gradient(const Vector& v) const {
    Vector sum = Vector::Zero(v.size());
    for (Index j = 0; j < rows.rows(); ++j)
      sum += (probability(j, v) - targets[j]) * Vector(rows.row(j).transpose());
    return sum / static_cast<double>(rows.rows()) + 0.01 * v;
  }
  Matrix hessian(const Vector& v) const {
    Matrix sum = Matrix::Zero(v.size(), v.size());
    for (Index j = 0; j < rows.rows(); ++j) {
      const double p = probability(j, v);
      const Vector row = rows.row(j).transpose();
      sum += p * (1 - p) * row * row.transpose();
    }
    sum /= static_cast<double>(rows.rows());
    sum.diagonal().array() += 0.01;
    return sum;
  }

  SparseRows rows;
  Vector targets;
  std::unique_ptr<const Objective> objective;
};

const Regularizer no_regularizer;

Vector random_vector(Index dimension, std::uint64_t seed) {
  KeyedRandom random(RandomKey{.seed = seed, .purpose = Purpose::synthetic});
  Vector result(dimension);
  for (double& entry : result) entry = random.normal();
  return result;
}

TEST(ProductSystem, SolvesLikeTheDenseHessianWorkedOutByLoops) {
  const Shard shard(150, 40);
  ObjectiveScratch scratch;
  ProductSystem system;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {  // from the second on with a preconditioner
    const Vector x = random_vector(40, seed), right = random_vector(40, 10 + seed);
    system.take(*shard.objective, x, Batch::all(), nullptr, scratch);
    Vector found = right;
    system.solve({.objective = *shard.objective,
                  .anchor = x,
                  .coupling_gradient = x,
                  .penalty_sum = {0.05},
                  .regularizer = no_regularizer},
                 Batch::all(), 1e-13, scratch, found);
    const Matrix matrix = shard.hessian(x) + 0.05 * Matrix::Identity(40, 40);
    const Vector expected = matrix.colPivHouseholderQr().solve(right);
    EXPECT_LT((found - expected).norm(), 1e-11 * expected.norm());
  }
}

// A diagonal matrix with six large eigenvalues among a hundred near one.
TEST(PairedInverse, NeedsFewerProductsOnceTheLargestEigenvaluesAreKnown) {
  Vector diagonal = Vector::LinSpaced(100, 1, 1.2);
  diagonal.head(6) << 100, 300, 700, 1000, 2000, 5000;
  PairedInverse known, next;
  ConjugateScratch scratch;
  const auto products_for = [&](std::uint64_t seed) {
    int products = 0;
    next.clear();
    const auto times = [&](const Vector& direction, Vector& product) {
      ++products;
      product = diagonal.cwiseProduct(direction);
      next.offer(direction, product);
    };
    const auto precondition = [&](const Vector& right, Vector& result) {
      known.apply(right, result);
    };
    Vector p;
    const Vector right = random_vector(100, seed);
    EXPECT_TRUE(conjugate_gradients(times, precondition, right, {.tolerance = 1e-8, .steps = 100},
                                    scratch, p));
    EXPECT_LT((p - right.cwiseQuotient(diagonal)).norm(), 1e-7);
    return products;
  };
  const int without = products_for(1);
  known = next;
  EXPECT_LT(products_for(2), without - 3);
}

/// Where several Newton steps lead from zero.
Vector solve(const NewtonSteps& options, const Shard& shard, int steps) {
  const Index dimension = shard.objective->dimension();
  Workspace workspace;
  workspace.fit(dimension);
  const Vector anchor = Vector::Zero(dimension);
  Vector coupling_gradient = Vector::Zero(dimension);
  coupling_gradient[0] = 0.1;
  workspace.point = anchor;
  Cost cost;
  make_local_solver(options, *shard.objective)
      ->solve({.objective = *shard.objective,
               .anchor = anchor,
               .coupling_gradient = coupling_gradient,
               .center_weight = {0.05},
               .penalty_sum = {0.05},
               .regularizer = no_regularizer},
              {.activation = {1, steps}}, workspace, cost);
  return workspace.point;
}

TEST(NewtonStepsByProducts, EndWhereStoredHessiansLead) {
  const Shard shard(150, 40);
  const Vector stored = solve({}, shard, 8), products = solve({.largest_stored = 39}, shard, 8);
  EXPECT_LT((products - stored).norm(), 1e-9 * stored.norm());
}

TEST(NewtonStepsByProducts, UseTheSameBatchesAsStoredHessians) {
  const Shard shard(150, 40);
  const MiniBatches batches{.gradient = 20, .hessian = 30};
  const Vector stored = solve({.sampling = batches}, shard, 1);
  const Vector products = solve({.sampling = batches, .largest_stored = 39}, shard, 1);
  EXPECT_LT((products - stored).norm(), 0.02 * stored.norm());  // the forcing tolerance is 0.01
}

// A Hessian of 100,000 x 100,000 numbers would take 80 gigabytes.
TEST(NewtonStepsByProducts, SolveAModelOfAHundredThousandCoefficients) {
  const Shard shard(60, 100'000);
  const Vector end = solve({}, shard, 6);
  Vector gradient = shard.gradient(end) + 0.05 * end;
  gradient[0] += 0.1;
  EXPECT_LT(gradient.norm(), 1e-9);
}

}  // namespace
}  // namespace grove
