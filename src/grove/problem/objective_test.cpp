#include "grove/problem/objective.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "grove/kernels/kernels.h"
#include "grove/problem/naive_problem.h"

namespace grove {
namespace {

using naive::Problem;

Vector to_vector(const std::vector<naive::Real>& values) {
  Vector result(values.size());
  for (Index k = 0; k < result.size(); ++k) result[k] = static_cast<double>(values[k]);
  return result;
}

Matrix to_matrix(const std::vector<std::vector<naive::Real>>& rows) {
  Matrix result(rows.size(), rows.size());
  for (Index k = 0; k < result.rows(); ++k) result.row(k) = to_vector(rows[k]).transpose();
  return result;
}

/// What one variant of the kernels says at x that the plain loops do not, to 1e-12 relative to the
/// norm of each answer; empty when they agree.
std::string disagreement(const Objective& objective, const Problem::Sums& want, const Vector& x,
                         Batch batch) {
  const Vector want_gradient = to_vector(want.gradient);
  const Matrix want_hessian = to_matrix(want.hessian);
  ObjectiveScratch scratch;
  Vector gradient, product;
  Matrix hessian;
  const double value = objective.evaluate(x, batch, &gradient, &hessian, scratch);
  const Vector direction = naive::random_point(x.size(), 1, 99);
  objective.hessian_times(x, batch, direction, product, scratch);

  const double want_value = static_cast<double>(want.value);
  if (!(std::abs(value - want_value) <= 1e-12 * std::abs(want_value))) return "value";
  if (!((gradient - want_gradient).norm() <= 1e-12 * want_gradient.norm())) return "gradient";
  if (!((hessian - want_hessian).norm() <= 1e-12 * want_hessian.norm())) return "Hessian";
  if (hessian != hessian.transpose()) return "symmetry";
  if (!((product - want_hessian * direction).norm() <=
        1e-12 * want_hessian.norm() * direction.norm()))
    return "Hessian times direction";
  if (objective.evaluate(x, batch, nullptr, nullptr, scratch) != value) return "value alone";
  Vector gradient_alone;
  if (objective.evaluate_second_derivatives(x, batch, &gradient_alone, scratch.second_derivatives,
                                            scratch) != value)
    return "value with second derivatives";
  if (gradient_alone != gradient) return "gradient with second derivatives";
  return {};
}

/// The same for every variant this machine can run.
std::string disagreement(const Problem& problem, bool sparse, const Vector& x,
                         const std::vector<std::uint32_t>& rows = {}) {
  const Problem::Sums want = problem.at(x, rows);
  for (const kernels::Kernels* variant : kernels::available()) {
    const std::string found = disagreement(*problem.objective(sparse, *variant), want, x,
                                           rows.empty() ? Batch::all() : Batch::of(rows));
    if (!found.empty()) return found + " of " + variant->name;
  }
  return {};
}

RC_GTEST_PROP(ShardObjective, AgreesWithPlainLoopsOnRandomShards, ()) {
  const Loss loss = *rc::gen::elementOf(naive::every_loss());
  const ShardTerms terms{.loss = loss,
                         .l2 = *rc::gen::element(0.0, 0.01),
                         .intercept = *rc::gen::arbitrary<bool>(),
                         .scale = *rc::gen::element(1.0, 2.5)};
  const Problem problem = naive::random_problem(
      {.rows = *rc::gen::inRange<std::uint32_t>(1, 150),
       .features = *rc::gen::inRange<Index>(1, 24),
       .density = *rc::gen::element(0.1, 0.5, 1.0),  // 0.1: some rows are empty
       .seed = *rc::gen::inRange<std::uint64_t>(0, 1000000)},
      terms);
  const Vector x = naive::random_point(problem.dimension(), 0.7, 5);
  const bool sparse = *rc::gen::arbitrary<bool>();
  RC_ASSERT(disagreement(problem, sparse, x) == "");
  const auto count = static_cast<std::uint32_t>(problem.rows.size());
  const auto rows = *rc::gen::nonEmpty<std::vector<std::uint32_t>>(
      rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, count)));
  RC_ASSERT(disagreement(problem, sparse, x, rows) == "");
}

TEST(ShardObjective, AgreesWithPlainLoopsAroundItsBlockAndTileSizes) {
  for (const auto& [rows, features] : {std::pair<std::uint32_t, Index>{1, 1},
                                       {63, 2},
                                       {64, 3},
                                       {65, 1},
                                       {129, 22},
                                       {7, 127},
                                       {9, 128},
                                       {70, 129},
                                       {300, 30},
                                       {3, 300}})
    for (const bool sparse : {false, true}) {
      const Problem problem = naive::random_problem(
          {.rows = rows, .features = features, .density = sparse ? 0.3 : 1}, {.intercept = true});
      EXPECT_EQ(disagreement(problem, sparse, naive::random_point(problem.dimension(), 0.3, 7)),
                "");
    }
}

TEST(ShardObjective, StaysFiniteAndRightForHugeAndTinyMargins) {
  for (const double scale : {1e3, 1e-300})
    for (const bool sparse : {false, true}) {
      const Problem problem =
          naive::random_problem({.rows = 40, .features = 5, .scale = scale}, {});
      const auto objective = problem.objective(sparse);
      const Vector x = Vector::Constant(5, 1);
      const Problem::Sums want = problem.at(x);
      ObjectiveScratch scratch;
      Vector gradient;
      Matrix hessian;
      const double value = objective->evaluate(x, Batch::all(), &gradient, &hessian, scratch);
      EXPECT_NEAR(value, static_cast<double>(want.value), 1e-12 * static_cast<double>(want.value));
      EXPECT_LE((gradient / scale - to_vector(want.gradient) / scale).norm(),
                1e-12 * (to_vector(want.gradient) / scale).norm());
      EXPECT_TRUE(hessian.allFinite());
    }
}

TEST(ShardObjective, RowsWithoutEntriesCountInTheMean) {
  Problem problem{.rows = {{0, 0}, {1, 2}, {0, 0}}, .targets = {1, 0, 0}, .terms = {}};
  for (const bool sparse : {false, true})
    EXPECT_EQ(disagreement(problem, sparse, Vector::Constant(2, 0.5)), "");
}

// Sparse shards of such entries do not read them.
TEST(ShardObjective, AgreesWithPlainLoopsWhereAllEntriesAreOne) {
  Problem problem =
      naive::random_problem({.rows = 300, .features = 9, .density = 0.3}, {.intercept = true});
  for (auto& row : problem.rows)
    for (double& entry : row) entry = entry != 0 ? 1 : 0;
  const Vector x = naive::random_point(10, 1, 3);
  for (const bool sparse : {false, true}) {
    EXPECT_EQ(disagreement(problem, sparse, x), "");
    EXPECT_EQ(disagreement(problem, sparse, x, {7, 0, 299, 128}), "");
  }
  problem.rows[140] = std::vector<double>(9, 2.0);
  EXPECT_EQ(disagreement(problem, true, x), "");
}

TEST(ShardObjective, AgreesWithPlainLoopsOnConstantColumnsAndDenormals) {
  Problem problem = naive::random_problem({.rows = 70, .features = 6}, {.intercept = true});
  for (auto& row : problem.rows) {
    row[1] = 3;  // a second constant column beside the intercept
    row[2] *= 1e-310;
    row[4] = 0;
  }
  for (const bool sparse : {false, true})
    EXPECT_EQ(disagreement(problem, sparse, naive::random_point(7, 1, 3)), "");
}

// Central differences of the library's own value and gradient, at points off Huber's kinks.
TEST(ShardObjective, DerivativesAreCentralDifferences) {
  constexpr double h = 1e-5;
  for (const Loss& loss : naive::every_loss())
    for (const bool sparse : {false, true}) {
      const Problem problem = naive::random_problem({.rows = 30, .features = 4, .seed = 3},
                                                    {.loss = loss, .l2 = 0.1, .intercept = true});
      const auto objective = problem.objective(sparse);
      const Vector x = naive::random_point(5, 0.5, 11);
      ObjectiveScratch scratch;
      Vector gradient, ahead_gradient, behind_gradient;
      Matrix hessian;
      objective->evaluate(x, Batch::all(), &gradient, &hessian, scratch);
      for (Index k = 0; k < x.size(); ++k) {
        const Vector shift = h * Vector::Unit(5, k);
        const double ahead =
            objective->evaluate(x + shift, Batch::all(), &ahead_gradient, nullptr, scratch);
        const double behind =
            objective->evaluate(x - shift, Batch::all(), &behind_gradient, nullptr, scratch);
        EXPECT_NEAR((ahead - behind) / (2 * h), gradient[k], 1e-6 * gradient.norm());
        EXPECT_LE(((ahead_gradient - behind_gradient) / (2 * h) - hessian.col(k)).norm(),
                  1e-6 * hessian.norm());
      }
    }
}

TEST(ShardObjective, BatchOfAllRowsIsTheWholeAndRepeatedEvaluationsAreBitEqual) {
  const Problem problem = naive::random_problem({.rows = 100, .features = 6}, {});
  std::vector<std::uint32_t> rows(100);
  for (std::uint32_t k = 0; k < 100; ++k) rows[k] = k;
  for (const bool sparse : {false, true}) {
    const auto objective = problem.objective(sparse);
    const Vector x = naive::random_point(6, 1, 2);
    ObjectiveScratch scratch, used;
    Vector first, second;
    Matrix first_hessian, second_hessian;
    objective->evaluate(-x, Batch::all(), &second, &second_hessian, used);
    EXPECT_EQ(objective->evaluate(x, Batch::all(), &first, &first_hessian, scratch),
              objective->evaluate(x, Batch::of(rows), &second, &second_hessian, used));
    EXPECT_EQ(first, second);
    EXPECT_EQ(first_hessian, second_hessian);
  }
}

// W = diag(3, 4) over two samples: W'W/2 = diag(4.5, 8); logistic second derivative at most 1/4.
TEST(ShardObjective, SmoothnessOfAHandSolvedShard) {
  const Problem problem{
      .rows = {{3, 0}, {0, 4}}, .targets = {0, 1}, .terms = {.l2 = 0.5, .scale = 2}};
  for (const bool sparse : {false, true})
    EXPECT_DOUBLE_EQ(problem.objective(sparse)->smoothness(), 2 * (8 * 0.25 + 0.5));
}

// One sample w: the only eigenvalue of w w' that is not zero is |w|^2. 600 columns: beyond the
// dense eigenvalue solver.
TEST(ShardObjective, SmoothnessOfOneWideSampleIsItsSquaredNorm) {
  for (const bool sparse : {false, true}) {
    const Problem problem = naive::random_problem(
        {.rows = 1, .features = 600}, {.loss = SquaredLoss{}, .l2 = 0.1, .intercept = true});
    double squares = 1;  // of the constant column
    for (const double entry : problem.rows[0]) squares += entry * entry;
    const double got = problem.objective(sparse)->smoothness();
    EXPECT_GT(got, squares);  // l2 adds something, but not to the intercept
    EXPECT_LT(got, squares + 0.1);
    EXPECT_NEAR(got, squares + 0.1 * (squares - 1) / squares, 1e-4);
  }
}

// Power iteration on the naive Hessian of the squared loss, which is the same everywhere.
TEST(ShardObjective, SmoothnessIsTheLargestEigenvalueByPowerIteration) {
  for (const Index features : {20, 520}) {
    const Problem problem =
        naive::random_problem({.rows = 15, .features = features}, {.loss = SquaredLoss{}});
    const Matrix hessian = to_matrix(problem.at(Vector::Zero(features)).hessian);
    Vector v = naive::random_point(features, 1, 3);
    double eigenvalue = 0;
    for (int k = 0; k < 5000; ++k) {
      v = hessian * v;
      eigenvalue = v.norm();
      v /= eigenvalue;
    }
    for (const bool sparse : {false, true})
      EXPECT_NEAR(problem.objective(sparse)->smoothness(), eigenvalue, 1e-12 * eigenvalue);
  }
}

TEST(MeanObjective, IsTheMeanOfItsPartsAndBoundsItsSmoothness) {
  std::vector<Problem> problems;
  std::vector<std::unique_ptr<const Objective>> owned;
  std::vector<const Objective*> parts;
  for (std::uint32_t k = 0; k < 3; ++k) {
    problems.push_back(naive::random_problem({.rows = 10 + 7 * k, .features = 4, .seed = k},
                                             {.loss = SquaredLoss{}, .l2 = 0.3}));
    owned.push_back(problems.back().objective(k == 1));
    parts.push_back(owned.back().get());
  }
  const auto mean = make_mean_objective(parts);
  EXPECT_EQ(mean->samples(), 10 + 17 + 24);
  const Vector x = naive::random_point(4, 1, 8), direction = naive::random_point(4, 1, 9);
  naive::Real value = 0;
  Vector want_gradient = Vector::Zero(4);
  Matrix want_hessian = Matrix::Zero(4, 4);
  for (const Problem& problem : problems) {
    const Problem::Sums sums = problem.at(x);
    value += sums.value / 3;
    want_gradient += to_vector(sums.gradient) / 3;
    want_hessian += to_matrix(sums.hessian) / 3;
  }
  ObjectiveScratch scratch;
  Vector gradient, product;
  Matrix hessian;
  EXPECT_NEAR(mean->evaluate(x, Batch::all(), &gradient, &hessian, scratch),
              static_cast<double>(value), 1e-12 * static_cast<double>(value));
  EXPECT_LE((gradient - want_gradient).norm(), 1e-12 * want_gradient.norm());
  EXPECT_LE((hessian - want_hessian).norm(), 1e-12 * want_hessian.norm());
  mean->hessian_times(x, Batch::all(), direction, product, scratch);
  EXPECT_LE((product - want_hessian * direction).norm(), 1e-12 * product.norm());
  EXPECT_GE(mean->smoothness(), (want_hessian * direction).norm() / direction.norm());
}

// More parts than a block has room for, the last block not full.
TEST(MeanObjective, IsTheSameWithAnyNumberOfThreads) {
  std::vector<std::unique_ptr<const Objective>> owned;
  std::vector<const Objective*> parts;
  for (std::uint32_t k = 0; k < 75; ++k) {
    owned.push_back(naive::random_problem({.rows = 5 + k % 7, .features = 4, .seed = k},
                                          {.loss = LogisticLoss{}, .l2 = 0.3})
                        .objective(k % 2 == 1));
    parts.push_back(owned.back().get());
  }
  const Vector x = naive::random_point(4, 1, 8), direction = naive::random_point(4, 1, 9);
  struct Answer {
    double value, smoothness;
    Vector gradient, product;
    Matrix hessian;
  };
  const auto ask = [&](int threads) {
    const auto mean = make_mean_objective(parts, threads);
    ObjectiveScratch scratch;
    Answer answer;
    answer.value = mean->evaluate(x, Batch::all(), &answer.gradient, &answer.hessian, scratch);
    mean->hessian_times(x, Batch::all(), direction, answer.product, scratch);
    answer.smoothness = mean->smoothness();
    return answer;
  };
  const Answer one = ask(1);
  for (const int threads : {2, 3, 0}) {
    const Answer several = ask(threads);
    EXPECT_EQ(several.value, one.value);
    EXPECT_EQ(several.gradient, one.gradient);
    EXPECT_EQ(several.hessian, one.hessian);
    EXPECT_EQ(several.product, one.product);
    EXPECT_EQ(several.smoothness, one.smoothness);
  }
}

// The weights n D_i / sum D of math.md (section 1, point 3) make the mean the pooled risk.
TEST(MeanObjective, OfShardsWeightedBySamplesIsThePooledRisk) {
  const Problem pooled = naive::random_problem({.rows = 30, .features = 3}, {});
  std::vector<std::unique_ptr<const Objective>> owned;
  std::vector<const Objective*> parts;
  for (const auto& [begin, end] : {std::pair{0, 5}, {5, 30}}) {
    Problem shard{.rows = {}, .targets = {}, .terms = {.scale = 2.0 * (end - begin) / 30}};
    shard.rows.assign(pooled.rows.begin() + begin, pooled.rows.begin() + end);
    shard.targets.assign(pooled.targets.begin() + begin, pooled.targets.begin() + end);
    owned.push_back(shard.objective(false));
    parts.push_back(owned.back().get());
  }
  const Vector x = naive::random_point(3, 1, 4);
  ObjectiveScratch scratch;
  const double want = static_cast<double>(pooled.at(x).value);
  EXPECT_NEAR(make_mean_objective(parts)->evaluate(x, Batch::all(), nullptr, nullptr, scratch),
              want, 1e-13 * want);
}

}  // namespace
}  // namespace grove
