#include "grove/local/proximal_newton.h"

#include <cmath>
#include <utility>

#include <gtest/gtest.h>
#include <Eigen/Cholesky>

#include "grove/local/batch.h"

namespace grove {
namespace {

constexpr Index samples = 200;

/// Rows on a spiral; every third is of class 1, or all of them are equal and of class 1.
DenseRows rows_of(bool alike) {
  DenseRows rows(samples, 2);
  for (Index j = 0; j < samples; ++j) {
    const double angle = alike ? 1 : 0.7 * static_cast<double>(j);
    rows.row(j) << std::cos(angle) * (1 + std::fmod(angle, 7) / 10), std::sin(angle);
  }
  return rows;
}
Vector targets_of(bool alike) {
  Vector targets(samples);
  for (Index j = 0; j < samples; ++j) targets[j] = alike || j % 3 == 0 ? 1 : 0;
  return targets;
}

const Regularizer no_regularizer;

struct Trial {
  bool alike = false;
  DenseRows rows = rows_of(alike);
  Vector targets = targets_of(alike);
  std::unique_ptr<const Objective> objective =
      make_shard_objective({rows, targets}, {.loss = LogisticLoss{}});
  Vector anchor = Vector::Zero(2);
  Vector coupling_gradient = Vector::Unit(2, 0) * 0.1;
  double penalty_sum = 0.05;
  Cost cost;

  LocalModel model() const {
    return {*objective, anchor, coupling_gradient, {penalty_sum}, {penalty_sum}, no_regularizer};
  }

  /// One activation of the solver from the anchor.
  Vector activate(ProximalNewton& newton, int steps, Round round = 1) {
    Workspace workspace;
    workspace.fit(2);
    workspace.point = anchor;
    newton.minimize(model(), {.steps = steps},
                    {.seed = 5, .agent = AgentId{2}, .activation = {round, steps}}, workspace,
                    cost);
    return workspace.point;
  }

  // By plain loops over the listed rows.
  double slope(Index j, const Vector& v) const {
    return 1 / (1 + std::exp(-rows.row(j).dot(v))) - targets[j];
  }
  Vector mean_gradient(const std::vector<std::uint32_t>& of, const Vector& v) const {
    Vector sum = Vector::Zero(2);
    for (const auto j : of) sum += slope(j, v) * rows.row(j).transpose();
    return sum / static_cast<double>(of.size());
  }
  Matrix mean_hessian(const std::vector<std::uint32_t>& of, const Vector& v) const {
    Matrix sum = Matrix::Zero(2, 2);
    for (const auto j : of) {
      const double p = slope(j, v) + targets[j];
      sum += p * (1 - p) * rows.row(j).transpose() * rows.row(j);
    }
    return sum / static_cast<double>(of.size());
  }
  Vector model_gradient(const Vector& v) const {
    return mean_gradient(everyone(), v) + coupling_gradient + penalty_sum * (v - anchor);
  }
  static std::vector<std::uint32_t> everyone() {
    std::vector<std::uint32_t> all(samples);
    for (std::uint32_t j = 0; j < samples; ++j) all[j] = j;
    return all;
  }
};

/// The rows of the batch with that number in round 1.
std::vector<std::uint32_t> drawn(Purpose purpose, std::uint64_t number, Index size) {
  Workspace workspace;
  draw_batch(batch_key({.seed = 5, .agent = AgentId{2}, .activation = {1, 1}}, purpose, number),
             size, samples, workspace);
  return workspace.rows;
}

// Two steps. The first follows the gradient over all samples; the second that of its own batch,
// corrected by the difference between batch and all samples at the anchor. Both use the Hessian of
// batch number 0.
TEST(VarianceReducedNewton, StepsFollowTheAnchoredGradientWorkedOutByLoops) {
  Trial trial;
  ProximalNewton newton(
      ProximalNewtonSteps{.sampling = VarianceReduced{.gradient = 40, .hessian = 80}},
      *trial.objective);
  const Vector found = trial.activate(newton, 2);

  const auto gradient_rows = drawn(Purpose::gradient_batch, 1, 40);
  const Matrix system = trial.mean_hessian(drawn(Purpose::hessian_batch, 0, 80), trial.anchor) +
                        trial.penalty_sum * Matrix::Identity(2, 2);
  const Vector first = trial.anchor - system.llt().solve(trial.model_gradient(trial.anchor));
  const Vector gradient = trial.mean_gradient(Trial::everyone(), trial.anchor) +
                          trial.mean_gradient(gradient_rows, first) -
                          trial.mean_gradient(gradient_rows, trial.anchor) +
                          trial.coupling_gradient + trial.penalty_sum * (first - trial.anchor);
  EXPECT_LT((found - (first - system.llt().solve(gradient))).norm(), 1e-12);
  // All samples at start and end; a batch for the second step and one to estimate the noise, each
  // at start and end.
  EXPECT_EQ(trial.cost.gradient_samples, 2u * samples + 2 * 2 * 40);
  EXPECT_EQ(trial.cost.hessian_samples, 80u);
  EXPECT_EQ(trial.cost.solves, 2u);
}

TEST(VarianceReducedNewton, EvaluatesAllSamplesOncePerActivation) {
  Trial trial;
  ProximalNewton newton(
      ProximalNewtonSteps{.sampling = VarianceReduced{.gradient = 10, .hessian = samples}},
      *trial.objective);
  trial.anchor = trial.activate(newton, 1);
  const std::uint64_t first = trial.cost.gradient_samples;
  trial.activate(newton, 1, 2);
  EXPECT_EQ(first, 2u * samples);
  EXPECT_EQ(trial.cost.gradient_samples, first + samples);
}

// Equal samples have no noise: the first batch is large enough for every step.
TEST(AdaptiveNewton, BatchesOfEqualSamplesNeverGrow) {
  Trial trial{.alike = true};
  ProximalNewton newton(
      ProximalNewtonSteps{.sampling = AdaptiveBatches{.gradient = 20, .hessian = 20}},
      *trial.objective);
  for (Round round = 1; round <= 6; ++round) trial.anchor = trial.activate(newton, 1, round);
  EXPECT_EQ(trial.cost.gradient_samples, 6u * 2 * 20);  // before and after each step
}

// Near its minimizer a model's gradient is below the noise of any batch but the shard itself.
TEST(AdaptiveNewton, BatchesGrowToTheShardAndTheModelIsSolvedExactly) {
  Trial trial;
  ProximalNewton newton(
      ProximalNewtonSteps{.sampling = AdaptiveBatches{.gradient = 10, .hessian = 10}},
      *trial.objective);
  const Vector found = trial.activate(newton, 30);
  EXPECT_LT(trial.model_gradient(found).norm(), 1e-7);
  EXPECT_GE(trial.cost.gradient_samples, 10u + 20 + 40 + 80 + 160 + samples);
}

TEST(ProximalNewton, ReachesTheMinimizerWithFewHessiansThroughManyActivations) {
  Trial trial;
  ProximalNewton newton(ProximalNewtonSteps{.sampling = FullBatches{}}, *trial.objective);
  for (Round round = 1; round <= 40; ++round) {
    trial.coupling_gradient = Vector::Unit(2, 0) * (0.1 + 0.001 * static_cast<double>(round % 3));
    trial.anchor = trial.activate(newton, 1, round);
  }
  const Vector found = trial.activate(newton, 20);
  EXPECT_LT(trial.model_gradient(found).norm(), 1e-6);  // decreases end at 1e-11 of the value
  EXPECT_LE(newton.hessians_computed(), 8u);
  EXPECT_GE(newton.hessians_computed(), 1u);
}

// Sketches while steps predicted much; the minimizer, and a Hessian of all samples, in the end.
TEST(ProximalNewton, EndsWithTheWholeHessianWhateverItBeganWith) {
  Trial trial;
  ProximalNewton newton(ProximalNewtonSteps{.sampling = FullBatches{}}, *trial.objective);
  Workspace workspace;
  workspace.fit(2);
  workspace.point = trial.anchor;
  const SolverTurn turn{.seed = 5, .agent = AgentId{2}, .activation = {1, 30}};
  newton.ensure_hessian(HessianDetail::sketch, *trial.objective, turn, workspace, trial.cost);
  EXPECT_NEAR(static_cast<double>(trial.cost.hessian_samples), samples / 4, 2);
  newton.minimize(trial.model(), {.steps = 30, .decrease = 1e-12, .sketch = 1e-3}, turn, workspace,
                  trial.cost);
  EXPECT_LT(trial.model_gradient(workspace.point).norm(), 1e-9);
  const auto before = trial.cost.hessian_samples;
  newton.ensure_hessian(HessianDetail::whole, *trial.objective, turn, workspace, trial.cost);
  EXPECT_EQ(trial.cost.hessian_samples, before) << "the last steps had computed one";
  const Matrix want = trial.mean_hessian(Trial::everyone(), workspace.point);
  EXPECT_LT((newton.hessian() - want).norm(), 0.2 * want.norm());
}

TEST(ProximalNewton, ASketchIsReplacedByTheWholeHessianOnRequest) {
  Trial trial;
  ProximalNewton newton(ProximalNewtonSteps{.sampling = FullBatches{}}, *trial.objective);
  Workspace workspace;
  workspace.fit(2);
  workspace.point = Vector::Constant(2, 0.3);
  const SolverTurn turn{.seed = 5, .agent = AgentId{2}, .activation = {1, 30}};
  const Matrix want = trial.mean_hessian(Trial::everyone(), workspace.point);
  newton.ensure_hessian(HessianDetail::sketch, *trial.objective, turn, workspace, trial.cost);
  EXPECT_GT((newton.hessian() - want).norm(), 1e-6 * want.norm());
  newton.ensure_hessian(HessianDetail::whole, *trial.objective, turn, workspace, trial.cost);
  EXPECT_LT((newton.hessian() - want).norm(), 1e-12 * want.norm());
}

TEST(ProximalNewton, ContinuesExactlyFromASavedState) {
  for (const Sampling& sampling : {Sampling{FullBatches{}}, Sampling{VarianceReduced{20, 30}},
                                   Sampling{AdaptiveBatches{20, 30}}}) {
    Trial trial;
    const ProximalNewtonSteps options{.sampling = sampling};
    ProximalNewton original(options, *trial.objective), copy(options, *trial.objective);
    for (Round round = 1; round <= 3; ++round) trial.anchor = trial.activate(original, 2, round);
    ByteWriter writer;
    original.save(writer);
    ByteReader reader(writer.bytes());
    copy.load(reader);
    ASSERT_TRUE(reader.finished());
    trial.coupling_gradient = Vector::Unit(2, 1);
    trial.cost = {};
    const Vector expected = trial.activate(original, 3, 4);
    const Cost spent = std::exchange(trial.cost, {});
    EXPECT_EQ(trial.activate(copy, 3, 4), expected);
    EXPECT_EQ(trial.cost, spent);
  }
}

// One sample of class 1 with feature 1, from x = -10, penalty sum 0.001: the derivative there is
// -1 and the second derivative 0.001 + 4.5e-5, so that a whole step ends near 946, where the
// penalty alone is 457. The model is 10 at the start and about 7 after three halvings.
TEST(DampedSteps, AreCountedByEverySolverOnAStepTooLongWorkedOutByHand) {
  const auto objective = make_shard_objective({DenseRows::Ones(1, 1), Vector::Ones(1)}, {});
  const Vector anchor = Vector::Constant(1, -10.0), coupling_gradient = Vector::Zero(1);
  const std::vector<LocalSolverOptions> every{
      NewtonSteps{},
      NewtonSteps{VarianceReduced{}},
      NewtonSteps{AdaptiveBatches{}},
      ProximalNewtonSteps{},
      ProximalNewtonSteps{VarianceReduced{}},
      ProximalNewtonSteps{AdaptiveBatches{}},
  };
  for (const LocalSolverOptions& options : every) {
    Workspace workspace;
    workspace.fit(1);
    workspace.point = anchor;
    Cost cost;
    make_local_solver(options, *objective)
        ->solve({.objective = *objective,
                 .anchor = anchor,
                 .coupling_gradient = coupling_gradient,
                 .center_weight = {1e-3},
                 .penalty_sum = {1e-3},
                 .regularizer = no_regularizer},
                {.activation = {1, 1}}, workspace, cost);
    EXPECT_EQ(cost.damped_steps, 1u);
    const double hessian = std::exp(10.0) / std::pow(1 + std::exp(10.0), 2) + 1e-3;
    EXPECT_NEAR(workspace.point[0], -10 + 1 / (1 + std::exp(-10.0)) / hessian / 8, 1e-9);
  }
}

TEST(DampedSteps, AreNoneWhereTheModelIsQuadratic) {
  const auto objective =
      make_shard_objective({DenseRows::Ones(1, 1), Vector::Ones(1)}, {.loss = SquaredLoss{}});
  Workspace workspace;
  workspace.fit(1);
  workspace.point = Vector::Constant(1, -10.0);
  const Vector anchor = workspace.point, coupling_gradient = Vector::Zero(1);
  Cost cost;
  make_local_solver(NewtonSteps{}, *objective)
      ->solve({.objective = *objective,
               .anchor = anchor,
               .coupling_gradient = coupling_gradient,
               .center_weight = {1},
               .penalty_sum = {1},
               .regularizer = no_regularizer},
              {.activation = {1, 5}}, workspace, cost);
  EXPECT_EQ(cost.damped_steps, 0u);
}

}  // namespace
}  // namespace grove
