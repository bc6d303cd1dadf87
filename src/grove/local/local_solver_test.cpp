#include "grove/local/local_solver.h"

#include <cmath>

#include <gtest/gtest.h>
#include <Eigen/Cholesky>

#include "grove/local/batch.h"
#include "grove/local/newton.h"

namespace grove {
namespace {

Vector vector_of(double first, double second) {
  Vector result(2);
  result << first, second;
  return result;
}

/// Rows (1, 0) and (1, 1) with targets 2 and 4 under the squared loss:
///   grad f(v) = H v - (3, 2),  H = [1 0.5; 0.5 0.5].
std::unique_ptr<const Objective> quadratic() {
  DenseRows rows(2, 2);
  rows << 1, 0, 1, 1;
  return make_shard_objective({std::move(rows), vector_of(2, 4)}, {.loss = SquaredLoss{}});
}

/// Thirty rows on a spiral with alternating classes.
DenseRows spiral_rows() {
  DenseRows rows(30, 2);
  for (Index j = 0; j < 30; ++j) {
    const double angle = 0.7 * static_cast<double>(j);
    rows.row(j) << std::cos(angle) * (1 + angle / 10), std::sin(angle);
  }
  return rows;
}
Vector spiral_targets() {
  Vector targets(30);
  for (Index j = 0; j < 30; ++j) targets[j] = j % 3 == 0 ? 1 : 0;
  return targets;
}
std::unique_ptr<const Objective> logistic() {
  return make_shard_objective({spiral_rows(), spiral_targets()}, {.loss = LogisticLoss{}});
}

const Regularizer no_regularizer;

struct Step {
  Vector anchor = Vector::Zero(2);
  Vector coupling_gradient = vector_of(1, 0);
  double penalty_sum = 0.5;
  double center_weight = 0.5;
  int local_steps = 1;
  Round round = 1;
};

/// Where the solver leads from the anchor.
Vector solve(LocalSolver& solver, const Objective& objective, const Step& step,
             Cost* cost = nullptr) {
  Workspace workspace;
  workspace.fit(objective.dimension());
  workspace.point = step.anchor;
  Cost own;
  solver.solve({.objective = objective,
                .anchor = step.anchor,
                .coupling_gradient = step.coupling_gradient,
                .center_weight = {step.center_weight},
                .penalty_sum = {step.penalty_sum},
                .regularizer = no_regularizer},
               {.seed = 5, .agent = AgentId{2}, .activation = {step.round, step.local_steps}},
               workspace, cost ? *cost : own);
  return workspace.point;
}

Vector solve(const LocalSolverOptions& options, const Objective& objective, const Step& step) {
  return solve(*make_local_solver(options, objective), objective, step);
}

Matrix matrix_of(double a, double b, double c, double d) {
  Matrix result(2, 2);
  result << a, b, c, d;
  return result;
}

void expect_near(const Vector& found, const Vector& expected, double tolerance = 1e-14) {
  EXPECT_LT((found - expected).norm(), tolerance)
      << found.transpose() << " instead of " << expected.transpose();
}

// The minimizer of the augmented model solves (H + 0.5 I) v = (3, 2) - g + 0.5 anchor, where g is
// the gradient of the coupling: from anchor 0 with g = (1, 0): [1.5 0.5; 0.5 1] v = (2, 2), v =
// (0.8, 1.6); from anchor (1, -1): right-hand side (2.5, 1.5), v = (1.4, 0.8).
TEST(NewtonSteps, OneStepSolvesAQuadraticExactly) {
  const auto f = quadratic();
  expect_near(solve(NewtonSteps{}, *f, {}), vector_of(0.8, 1.6));
  expect_near(solve(NewtonSteps{}, *f, {.anchor = vector_of(1, -1)}), vector_of(1.4, 0.8));
}

TEST(NewtonSteps, FurtherAugmentedStepsStayAtTheSolutionOfAQuadratic) {
  expect_near(solve(NewtonSteps{}, *quadratic(), {.local_steps = 7}), vector_of(0.8, 1.6));
}

// Linearized with eps = 0.1: the first step is the same; the second sees the gradient
// H v - (3, 2) + (1, 0) + 0.1 v = (-0.32, -0.64) at v = (0.8, 1.6), hence moves by (0, 0.64).
// The steps tend to the solution of (H + 0.1 I) v = (2, 2): v = (0.2, 1.2) / 0.41 .
TEST(NewtonSteps, LinearizedStepsFollowTheNumbersWorkedOutByHand) {
  const auto f = quadratic();
  expect_near(solve(NewtonSteps{}, *f, {.center_weight = 0.1, .local_steps = 2}),
              vector_of(0.8, 2.24));
  expect_near(solve(NewtonSteps{}, *f, {.center_weight = 0.1, .local_steps = 300}),
              vector_of(0.2 / 0.41, 1.2 / 0.41), 1e-12);
}

// The gradient of the model at 0 is (-2, -2); divided by the penalty sum 0.5 it leads to (4, 4).
TEST(GradientStep, IsScaledByThePenaltySumAlone) {
  expect_near(solve(GradientStep{}, *quadratic(), {}), vector_of(4, 4));
  expect_near(solve(GradientStep{}, *quadratic(), {.local_steps = 9}), vector_of(4, 4));
}

// J starts at L I with L = (1.5 + sqrt(1.25)) / 2, the larger eigenvalue of H. The second step uses
// the BFGS update of J, worked out here by its textbook formula with w = H s.
TEST(BfgsStep, FollowsTheTextbookUpdate) {
  const auto f = quadratic();
  const Matrix hessian = matrix_of(1, 0.5, 0.5, 0.5);
  const Matrix eye = Matrix::Identity(2, 2);
  const auto solver = make_local_solver(BfgsStep{}, *f);
  Matrix approximation = (1.5 + std::sqrt(1.25)) / 2 * eye;

  const Vector first = solve(*solver, *f, {});
  expect_near(first, vector_of(2, 2) / (approximation(0, 0) + 0.5));

  Vector x = first, step = first;  // from x = 0
  for (int k = 0; k < 6; ++k) {
    const Vector change = hessian * step, predicted = approximation * step;
    approximation += change * change.transpose() / change.dot(step) -
                     predicted * predicted.transpose() / predicted.dot(step);
    const Vector gradient = hessian * x - vector_of(3, 2) + vector_of(1, 0);
    const Vector expected = x - (approximation + 0.5 * eye).llt().solve(gradient);
    const Vector found = solve(*solver, *f, {.anchor = x});
    expect_near(found, expected, 1e-12);
    step = found - x;
    x = found;
  }
}

TEST(BfgsStep, AnActivationAtTheSamePointDoesNotUpdateTheApproximation) {
  const auto f = quadratic();
  const auto solver = make_local_solver(BfgsStep{}, *f);
  const Vector first = solve(*solver, *f, {});
  expect_near(solve(*solver, *f, {}), first);
}

/// Of the augmented model on the logistic data, by plain loops.
Vector model_gradient(const Vector& v, const Step& step) {
  const DenseRows rows = spiral_rows();
  const Vector targets = spiral_targets();
  Vector gradient = step.coupling_gradient + step.center_weight * (v - step.anchor);
  for (Index j = 0; j < rows.rows(); ++j)
    gradient +=
        (1 / (1 + std::exp(-rows.row(j).dot(v))) - targets[j]) / 30 * rows.row(j).transpose();
  return gradient;
}

TEST(ExactSolve, EndsBelowItsToleranceHoweverFarItStarts) {
  const auto f = logistic();
  for (const double tolerance : {1e-3, 1e-5, 1e-10})
    for (const double far : {0.0, 1.0, 50.0}) {
      const Step step{.anchor = vector_of(far, -far), .penalty_sum = 1e-3, .center_weight = 1e-3};
      const Vector end = solve(ExactSolve{.tolerance = tolerance}, *f, step);
      EXPECT_LE(model_gradient(end, step).norm(), tolerance) << "from " << far;
    }
}

TEST(ExactSolve, TakesAStepEvenWhereTheToleranceIsMet) {
  const auto f = quadratic();
  const Vector near = vector_of(0.8, 1.6 + 1e-7);
  const Step step{.anchor = near, .coupling_gradient = vector_of(1, 0) + 0.5 * near};
  expect_near(solve(ExactSolve{.tolerance = 1e-3}, *f, step), vector_of(0.8, 1.6), 1e-13);
}

// The batches that a step drew are known from the key; the step is then the Newton step of the two
// means, worked out by plain loops.
TEST(MiniBatches, AStepUsesItsOwnGradientAndHessianBatches) {
  const auto f = logistic();
  const DenseRows rows = spiral_rows();
  const Vector targets = spiral_targets();
  const Vector x = vector_of(0.3, -0.2);
  Workspace workspace;
  draw_batch({.seed = 5, .purpose = Purpose::gradient_batch, .agent = 2, .round = 4}, 5, 30,
             workspace);
  const auto gradient_rows = workspace.rows;
  draw_batch({.seed = 5, .purpose = Purpose::hessian_batch, .agent = 2, .round = 4}, 8, 30,
             workspace);
  const auto hessian_rows = workspace.rows;

  Vector gradient = vector_of(1, 0);  // of the coupling, at the anchor
  for (const auto j : gradient_rows)
    gradient +=
        (1 / (1 + std::exp(-rows.row(j).dot(x))) - targets[j]) / 5 * rows.row(j).transpose();
  Matrix hessian = 0.5 * Matrix::Identity(2, 2);
  for (const auto j : hessian_rows) {
    const double p = 1 / (1 + std::exp(-rows.row(j).dot(x)));
    hessian += p * (1 - p) / 8 * rows.row(j).transpose() * rows.row(j);
  }
  const NewtonSteps options{MiniBatches{.gradient = 5, .hessian = 8}};
  expect_near(solve(options, *f, {.anchor = x, .round = 4}), x - hessian.llt().solve(gradient));
}

TEST(MiniBatches, AsLargeAsTheShardTheyAreFullBatches) {
  const auto f = logistic();
  const Step step{.anchor = vector_of(0.3, -0.2), .local_steps = 3};
  const NewtonSteps clamped{MiniBatches{.gradient = 1000, .hessian = 30}};
  Cost full_cost, clamped_cost;
  const Vector full = solve(*make_local_solver(NewtonSteps{}, *f), *f, step, &full_cost);
  const Vector batched = solve(*make_local_solver(clamped, *f), *f, step, &clamped_cost);
  expect_near(batched, full);
  // The safeguard of full batches evaluates one gradient more, at the end of the last step.
  clamped_cost.gradient_samples += static_cast<std::uint64_t>(f->samples());
  EXPECT_EQ(clamped_cost, full_cost);
}

TEST(MiniBatches, AreDrawnAnewInEveryStepAndRound) {
  const auto f = logistic();
  const NewtonSteps options{MiniBatches{.gradient = 4, .hessian = 30}};
  const auto after = [&](Round round, int steps) {
    return solve(options, *f, {.local_steps = steps, .round = round});
  };
  EXPECT_GT((after(1, 1) - after(2, 1)).norm(), 1e-6);
  EXPECT_EQ(after(1, 1), after(1, 1));
  // With the same batch twice the second step of an (almost quadratic) model would hardly move.
  EXPECT_GT((after(1, 2) - after(1, 1)).norm(), 1e-2);
}

// [2 1; 1 2] + I = [3 1; 1 3], and [3 1; 1 3] (1, 2) = (5, 7).
TEST(SolveShifted, SolvesTheShiftedSystem) {
  Matrix matrix = matrix_of(2, 1, 1, 2);
  Vector solution = vector_of(5, 7), buffer;
  EXPECT_TRUE(solve_shifted(matrix, 1, solution, buffer));
  expect_near(solution, vector_of(1, 2));
}

// [1 1; 1 1] + 1e-20 I is singular to rounding: (2, 2) has the solutions whose sum is 2, and a
// small one of them is found.
TEST(SolveShifted, AddsARidgeWhereRoundingLeavesAMatrixSingular) {
  Matrix matrix = matrix_of(1, 1, 1, 1);
  Vector solution = vector_of(2, 2), buffer;
  EXPECT_TRUE(solve_shifted(matrix, 1e-20, solution, buffer));
  EXPECT_NEAR(solution.sum(), 2, 1e-12);
  EXPECT_LT(solution.norm(), 2);
}

TEST(SolveShifted, GivesNothingForMatricesThatAreNotFinite) {
  for (const double broken : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    Matrix matrix = matrix_of(1, broken, broken, 1);
    Vector solution = vector_of(5, 7), buffer;
    EXPECT_FALSE(solve_shifted(matrix, 1, solution, buffer));
    EXPECT_TRUE(solution.array().isNaN().all());
  }
}

/// f = x'x/2 whose second derivatives overflow.
class Overflowing final : public Objective {
 public:
  Index dimension() const override { return 2; }
  Index samples() const override { return 1; }
  double smoothness() const override { return std::numeric_limits<double>::infinity(); }
  double evaluate(const Vector& x, Batch, Vector* gradient, Matrix* hessian,
                  ObjectiveScratch&) const override {
    ++evaluations;
    if (gradient) *gradient = x;
    if (hessian) *hessian = matrix_of(INFINITY, 0, 0, INFINITY);
    return 0.5 * x.squaredNorm();
  }
  double evaluate_second_derivatives(const Vector& x, Batch batch, Vector* gradient,
                                     std::span<double>, ObjectiveScratch& scratch) const override {
    return evaluate(x, batch, gradient, nullptr, scratch);
  }
  void weighted_hessian_times(std::span<const double>, Batch, const Vector& direction,
                              Vector& result, ObjectiveScratch&) const override {
    result = direction * INFINITY;
  }

  mutable int evaluations = 0;
};

// A run that cannot go on must show as diverged instead of taking steps of another kind.
TEST(LocalSolvers, AStepThatCannotBeSolvedForIsNotANumber) {
  for (const LocalSolverOptions& options :
       {LocalSolverOptions(NewtonSteps{FullBatches{}}),
        LocalSolverOptions(NewtonSteps{MiniBatches{}}), LocalSolverOptions(BfgsStep{}),
        LocalSolverOptions(ExactSolve{})}) {
    const Overflowing f;
    Workspace workspace;
    workspace.fit(2);
    workspace.coupling_gradient = vector_of(1, 1);
    workspace.point = vector_of(1, 2);
    const Vector anchor = workspace.point;
    Cost cost;
    make_local_solver(options, f)
        ->solve({.objective = f,
                 .anchor = anchor,
                 .coupling_gradient = workspace.coupling_gradient,
                 .center_weight = {1},
                 .penalty_sum = {1},
                 .regularizer = no_regularizer},
                {.activation = {.round = 1, .local_steps = 5}}, workspace, cost);
    EXPECT_TRUE(workspace.point.array().isNaN().all()) << options.index();
    EXPECT_LE(f.evaluations, 2) << options.index() << " continued";
  }
}

}  // namespace
}  // namespace grove
