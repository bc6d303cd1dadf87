#include "grove/problem/reference.h"

#include <cmath>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "grove/problem/naive_problem.h"

namespace grove {
namespace {

using naive::Problem;
using naive::Real;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Distance of 0 from grad f(x) + subdifferential of r at x, by the naive gradient: zero exactly at
/// a minimizer. Kinks must be hit exactly: a coefficient of 1e-17 is no zero.
double optimality_violation(const Problem& problem, const Regularizer& r, const Vector& x) {
  const Problem::Sums sums = problem.at(x);
  Real squares = 0;
  for (Index k = 0; k < x.size(); ++k) {
    Real least = 0, most = 0;  // of the subdifferential
    if (k < r.regularized) {
      least = x[k] > 0 ? r.l1 : -r.l1;
      most = x[k] < 0 ? -r.l1 : r.l1;
      if (x[k] < r.low || x[k] > r.high) return infinity;
      if (x[k] == r.low) least = -infinity;
      if (x[k] == r.high) most = infinity;
    }
    const Real wanted = -sums.gradient[k];
    const Real distance = std::max({least - wanted, wanted - most, Real{0}});
    squares += distance * distance;
  }
  return static_cast<double>(std::sqrt(squares));
}

/// The point the solver starts from: the feasible one nearest to 0.
Vector start_of(const Problem& problem, const Regularizer& r) {
  Vector x = Vector::Zero(problem.dimension());
  for (Index k = 0; k < r.regularized; ++k) x[k] = std::fmin(r.high, std::fmax(r.low, 0.0));
  return x;
}

double gradient_norm(const Problem::Sums& sums) {
  Real squares = 0;
  for (const Real part : sums.gradient) squares += part * part;
  return static_cast<double>(std::sqrt(squares));
}

/// How far rounding alone can move what is computed at x in double precision.
struct Rounding {
  double gradient = 0;  ///< a margin's error passes a second derivative of at most 1, then |w|
  double value = 0;     ///< ... passes a slope, at most sqrt(2 value) in the mean of squares
};

Rounding rounding_at(const Problem& problem, const Vector& x, double value) {
  const double ulps = 4 * std::numeric_limits<double>::epsilon();
  const double count = static_cast<double>(problem.rows.size());
  double gradient = problem.terms.l2 * x.norm(), margin_squares = 0;
  for (std::size_t row = 0; row < problem.rows.size(); ++row) {
    double squares = problem.terms.intercept ? 1 : 0;
    for (const double entry : problem.rows[row]) squares += entry * entry;
    const double margin = std::sqrt(squares) * x.norm() + std::abs(problem.targets[row]);
    gradient += std::sqrt(squares) * (margin + 1) / count;
    margin_squares += margin * margin / count;
  }
  const double margin_error = ulps * std::sqrt(margin_squares);
  return {.gradient = ulps * gradient,
          .value = ulps * value + margin_error * (std::sqrt(2 * value) + margin_error)};
}

/// What is wrong with the solver's answer, dense and sparse; empty when it is a minimizer.
std::string fault(const Problem& problem, const Regularizer& r, const ReferenceOptions& options) {
  const Problem::Sums start = problem.at(start_of(problem, r));
  for (const bool sparse : {false, true}) {
    const auto objective = problem.objective(sparse);
    const auto solution = solve_reference(*objective, r, options);
    if (!solution) return solution.error().text();
    const double want = static_cast<double>(problem.at(solution->x).value) + r.value(solution->x);
    const Rounding rounding = rounding_at(problem, solution->x, want);
    const double violation = optimality_violation(problem, r, solution->x);
    if (!(violation <= 1e-12 * gradient_norm(start) + rounding.gradient))
      return fmt::format("violation {} after {} iterations, residual {}", violation,
                         solution->iterations, solution->residual);
    if (!(std::abs(solution->objective - want) <= rounding.value))
      return fmt::format("objective {} instead of {}", solution->objective, want);
  }
  return {};
}

std::vector<Regularizer> every_regularizer(Index regularized) {
  const auto with = [&](double l1, double low, double high) {
    return Regularizer{.l1 = l1, .low = low, .high = high, .regularized = regularized};
  };
  return {with(0, -infinity, infinity), with(0.05, -infinity, infinity),
          with(0, 0, infinity),         with(0.02, 0, infinity),
          with(0, -0.1, 0.2),           with(0.02, -0.1, 0.2),
          with(0.02, 0.1, 0.3),         with(0.03, -infinity, 0.1),
          with(0, 0.25, 0.25),          with(10, -infinity, infinity)};
}

TEST(Reference, MeetsTheOptimalityConditionForEveryLossAndRegularizer) {
  for (const Loss& loss : naive::every_loss())
    for (const bool intercept : {false, true})
      for (const double l2 : {0.0, 0.01}) {
        const Problem problem =
            naive::random_problem({.rows = 60, .features = 7, .density = 0.8, .seed = 4},
                                  {.loss = loss, .l2 = l2, .intercept = intercept});
        for (const Regularizer& r : every_regularizer(7)) {
          EXPECT_EQ(fault(problem, r, {}), "");
          EXPECT_EQ(fault(problem, r, {.dense_limit = 0}), "");
        }
      }
}

// More features than samples, empty columns, repeated columns: minimizers are not unique, but each
// answer must be one.
TEST(Reference, MeetsTheOptimalityConditionWhereTheHessianIsSingular) {
  for (const Loss& loss : naive::every_loss()) {
    Problem problem = naive::random_problem({.rows = 12, .features = 20, .density = 0.7},
                                            {.loss = loss, .intercept = true});
    for (auto& row : problem.rows) row[3] = 0, row[5] = row[4], row[7] = -row[4];
    for (const Regularizer& r : every_regularizer(20)) {
      const bool unbounded = r.l1 == 0 && (std::isinf(r.low) || std::isinf(r.high));
      if (is_classification(loss) && unbounded) continue;  // separable: no minimizer
      EXPECT_EQ(fault(problem, r, {}), "");
    }
  }
}

RC_GTEST_PROP(Reference, MeetsTheOptimalityConditionOnRandomProblems, ()) {
  const Problem problem =
      naive::random_problem({.rows = *rc::gen::inRange<std::uint32_t>(1, 80),
                             .features = *rc::gen::inRange<Index>(1, 15),
                             .density = *rc::gen::element(0.2, 1.0),
                             .scale = *rc::gen::element(0.01, 1.0, 100.0),
                             .seed = *rc::gen::inRange<std::uint64_t>(0, 1000000)},
                            {.loss = *rc::gen::element<Loss>(LogisticLoss{}, SquaredLoss{},
                                                             HuberLoss{1.35}, HuberLoss{0.01}),
                             .l2 = *rc::gen::element(1e-4, 0.1),
                             .intercept = false});
  Regularizer r{.l1 = *rc::gen::element(0.0, 1e-3, 0.1), .regularized = problem.features()};
  if (*rc::gen::arbitrary<bool>()) r.low = *rc::gen::element(-0.5, 0.0, 0.1);
  if (*rc::gen::arbitrary<bool>()) r.high = *rc::gen::element(0.1, 2.0);
  RC_ASSERT(fault(problem, r, {.dense_limit = *rc::gen::element<Index>(0, 100)}) == "");
}

// (x - 3)^2/2 + l1 |x|: the minimizer is the soft threshold of 3.
TEST(Reference, SolvesOneDimensionalLassoByHand) {
  const Problem problem{.rows = {{1}}, .targets = {3}, .terms = {.loss = SquaredLoss{}}};
  const auto objective = problem.objective(false);
  for (const auto& [l1, want] : {std::pair{1.0, 2.0}, {3.5, 0.0}, {0.0, 3.0}}) {
    const auto solution = solve_reference(*objective, {.l1 = l1, .regularized = 1});
    ASSERT_TRUE(solution);
    EXPECT_DOUBLE_EQ(solution->x[0], want);
  }
}

// Samples (1,0)->1, (1,1)->-1, mean of squares/2: the Gram matrix is [[1,.5],[.5,.5]], W'y/2 is
// (0,-.5); unconstrained optimum (1,-2). With x >= 0: gradient at 0 is (0, .5) >= 0, so x* = 0.
// With l1 = 1/4: signs (+,-): x1 + .5 x2 = -.25, .5 x1 + .5 x2 = -.25 -> x1 = 0, x2 = -.5.
TEST(Reference, SolvesTwoDimensionalLeastSquaresByHand) {
  const Problem problem{
      .rows = {{1, 0}, {1, 1}}, .targets = {1, -1}, .terms = {.loss = SquaredLoss{}}};
  const auto objective = problem.objective(false);
  const auto free = solve_reference(*objective, {.regularized = 2});
  const auto non_negative = solve_reference(*objective, {.low = 0, .regularized = 2});
  const auto lasso = solve_reference(*objective, {.l1 = 0.25, .regularized = 2});
  ASSERT_TRUE(free && non_negative && lasso);
  EXPECT_LE((free->x - Eigen::Vector2d(1, -2)).norm(), 1e-12);
  EXPECT_EQ(non_negative->x, Vector::Zero(2));
  EXPECT_LE((lasso->x - Eigen::Vector2d(0, -0.5)).norm(), 1e-12);
}

// Two thirds of the samples are 1, the model only an intercept: log odds = log 2.
TEST(Reference, SolvesAnInterceptByHand) {
  const Problem problem{
      .rows = {{0}, {0}, {0}}, .targets = {1, 0, 1}, .terms = {.intercept = true}};
  const auto solution = solve_reference(*problem.objective(true), {.l1 = 5, .regularized = 1});
  ASSERT_TRUE(solution);
  EXPECT_EQ(solution->x[0], 0);
  EXPECT_NEAR(solution->x[1], std::log(2.0), 1e-14);
}

TEST(Reference, NeedsAFewIterationsForTheSquaredLoss) {
  const Problem problem =
      naive::random_problem({.rows = 200, .features = 30}, {.loss = SquaredLoss{}});
  for (const Regularizer& r : every_regularizer(30)) {
    const auto solution = solve_reference(*problem.objective(false), r);
    ASSERT_TRUE(solution);
    EXPECT_LE(solution->iterations, 4);
  }
}

// The median-like limit of a Huber loss: the second derivative is tiny anywhere, and zero at the
// start.
TEST(Reference, FindsTheOptimumOfANearlyPiecewiseLinearLoss) {
  const Problem problem = naive::random_problem({.rows = 300, .features = 6, .seed = 2},
                                                {.loss = HuberLoss{1e-3}, .intercept = true});
  EXPECT_EQ(fault(problem, {.regularized = 6}, {}), "");
  EXPECT_EQ(fault(problem, {.l1 = 1e-5, .regularized = 6}, {}), "");
}

/// Columns in units that differ by ten orders of magnitude.
TEST(Reference, SurvivesBadlyScaledFeatures) {
  Problem problem = naive::random_problem({.rows = 80, .features = 4}, {});
  for (auto& row : problem.rows) row[0] *= 1e5, row[1] *= 1e-5;
  EXPECT_EQ(fault(problem, {.regularized = 4}, {}), "");
  EXPECT_EQ(fault(problem, {.l1 = 1e-3, .regularized = 4}, {}), "");
}

TEST(Reference, RefusesSeparableDataThatNothingRegularizesAndSaysWhatToTry) {
  const Problem line{.rows = {{-1}, {-2}, {1}, {3}}, .targets = {0, 0, 1, 1}, .terms = {}};
  // Not separable as a whole, but the second feature occurs in one class only.
  Problem rare = naive::random_problem({.rows = 200, .features = 2}, {});
  for (std::size_t k = 0; k < rare.rows.size(); ++k)
    rare.rows[k][1] = rare.targets[k] == 1 && k < 20 ? 1 : 0;
  const Problem one_class{
      .rows = {{1}, {-1}, {0}}, .targets = {1, 1, 1}, .terms = {.intercept = true}};
  for (const Problem& problem : {line, rare, one_class})
    for (const Index dense_limit : {Index{0}, Index{2000}}) {
      const auto objective = problem.objective(false);
      const Index features = problem.features();
      const auto none =
          solve_reference(*objective, {.regularized = features}, {.dense_limit = dense_limit});
      ASSERT_FALSE(none);
      EXPECT_NE(none.error().text().find("no minimizer"), std::string::npos);
      EXPECT_NE(none.error().text().find("--l2"), std::string::npos);
    }
  Problem mended = line;
  mended.terms.l2 = 1e-6;
  EXPECT_EQ(fault(mended, {.regularized = 1}, {}), "");
  EXPECT_EQ(fault(line, {.l1 = 1e-6, .regularized = 1}, {}), "");
  for (auto& row : mended.rows) row[0] *= 10;  // the minimizer is where losses nearly vanish
  mended.terms.l2 = 1e-10;
  EXPECT_EQ(fault(mended, {.regularized = 1}, {}), "");
  EXPECT_EQ(fault(line, {.low = -5, .high = 5, .regularized = 1}, {}), "");
}

TEST(Reference, ReturnsTheStartWhereItIsOptimal) {
  const Problem zeros{.rows = {{0, 0}, {0, 0}}, .targets = {0, 1}, .terms = {}};
  const auto solution = solve_reference(*zeros.objective(false), {.regularized = 2});
  ASSERT_TRUE(solution);
  EXPECT_EQ(solution->x, Vector::Zero(2));
  EXPECT_EQ(solution->iterations, 0);
}

TEST(Reference, SaysSoWhenTheSamplesAreNotNumbers) {
  const Problem bad{.rows = {{std::nan("")}, {1}}, .targets = {0, 1}, .terms = {}};
  EXPECT_FALSE(solve_reference(*bad.objective(false), {.regularized = 1}));
}

// Without r it is the gradient's norm; with r it is the definition L |x - prox(x - g/L)|.
TEST(Stationarity, IsTheNormOfTheProxGradientStep) {
  const Vector x = Eigen::Vector3d(0.5, 0, -2), g = Eigen::Vector3d(1, 0.5, -3);
  EXPECT_DOUBLE_EQ(stationarity(x, g, {.regularized = 3}, 2), g.norm());
  // L = 2, l1 = 1, x >= -2.2: prox targets: soft(0, .5) = 0; soft(-.25, .5) = 0; soft(-.5, .5) = 0.
  const Regularizer r{.l1 = 1, .low = -2.2, .regularized = 3};
  EXPECT_DOUBLE_EQ(stationarity(x, g, r, 2), 2 * Eigen::Vector3d(0.5, 0, -2).norm());
  // L = 10: soft(.4, .1) = .3, soft(-.05, .1) = 0, soft(-1.7, .1) = -1.6.
  EXPECT_NEAR(stationarity(x, g, r, 10), 10 * Eigen::Vector3d(0.2, 0, -0.4).norm(), 1e-13);
}

}  // namespace
}  // namespace grove
