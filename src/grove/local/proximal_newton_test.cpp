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

struct Trial {
  bool alike = false;
  DenseRows rows = rows_of(alike);
  Vector targets = targets_of(alike);
  std::unique_ptr<const Objective> objective =
      make_shard_objective({rows, targets}, {.loss = LogisticLoss{}});
  Vector anchor = Vector::Zero(2);
  Vector pull = Vector::Unit(2, 0) * 0.1;
  double coupling = 0.05;
  Cost cost;

  /// One activation of the solver from the anchor.
  Vector activate(ProximalNewton& newton, int steps, Round round = 1) {
    Workspace workspace;
    workspace.fit(2);
    workspace.point = anchor;
    const Regularizer none;
    newton.minimize({*objective, anchor, pull, {coupling}, {coupling}, none}, {.steps = steps},
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
    return mean_gradient(everyone(), v) + pull + coupling * (v - anchor);
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
// corrected by what the batch says at the anchor. Both use the Hessian of batch number 0.
TEST(VarianceReducedNewton, StepsFollowTheAnchoredGradientWorkedOutByLoops) {
  Trial trial;
  ProximalNewton newton(VarianceReduced{.gradient = 40, .hessian = 80}, samples);
  const Vector found = trial.activate(newton, 2);

  const auto gradient_rows = drawn(Purpose::gradient_batch, 1, 40);
  const Matrix system = trial.mean_hessian(drawn(Purpose::hessian_batch, 0, 80), trial.anchor) +
                        trial.coupling * Matrix::Identity(2, 2);
  const Vector first = trial.anchor - system.llt().solve(trial.model_gradient(trial.anchor));
  const Vector gradient = trial.mean_gradient(Trial::everyone(), trial.anchor) +
                          trial.mean_gradient(gradient_rows, first) -
                          trial.mean_gradient(gradient_rows, trial.anchor) + trial.pull +
                          trial.coupling * (first - trial.anchor);
  EXPECT_LT((found - (first - system.llt().solve(gradient))).norm(), 1e-12);
  // All at both ends; a batch for the second step and one to see the noise, each at both ends.
  EXPECT_EQ(trial.cost.gradient_samples, 2u * samples + 2 * 2 * 40);
  EXPECT_EQ(trial.cost.hessian_samples, 80u);
  EXPECT_EQ(trial.cost.solves, 2u);
}

TEST(VarianceReducedNewton, LooksAtAllSamplesOncePerActivation) {
  Trial trial;
  ProximalNewton newton(VarianceReduced{.gradient = 10, .hessian = samples}, samples);
  trial.anchor = trial.activate(newton, 1);
  const std::uint64_t first = trial.cost.gradient_samples;
  trial.activate(newton, 1, 2);
  EXPECT_EQ(first, 2u * samples);
  EXPECT_EQ(trial.cost.gradient_samples, first + samples);
}

// Samples that agree leave no noise: the first batch is good for ever.
TEST(AdaptiveNewton, BatchesOfSamplesThatAgreeNeverGrow) {
  Trial trial{.alike = true};
  ProximalNewton newton(AdaptiveBatches{.gradient = 20, .hessian = 20}, samples);
  for (Round round = 1; round <= 6; ++round) trial.anchor = trial.activate(newton, 1, round);
  EXPECT_EQ(trial.cost.gradient_samples, 6u * 2 * 20);  // before and after each step
}

// Near its minimizer a model's gradient drowns in the noise of any batch but the shard itself.
TEST(AdaptiveNewton, BatchesGrowToTheShardAndTheModelIsSolvedExactly) {
  Trial trial;
  ProximalNewton newton(AdaptiveBatches{.gradient = 10, .hessian = 10}, samples);
  const Vector found = trial.activate(newton, 30);
  EXPECT_LT(trial.model_gradient(found).norm(), 1e-7);
  EXPECT_GE(trial.cost.gradient_samples, 10u + 20 + 40 + 80 + 160 + samples);
}

TEST(ProximalNewton, ReachesTheMinimizerWithFewHessiansThroughManyActivations) {
  Trial trial;
  ProximalNewton newton(FullBatches{}, samples);
  for (Round round = 1; round <= 40; ++round) {
    trial.pull = Vector::Unit(2, 0) * (0.1 + 0.001 * static_cast<double>(round % 3));
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
  ProximalNewton newton(FullBatches{}, samples);
  Workspace workspace;
  workspace.fit(2);
  workspace.point = trial.anchor;
  const Regularizer none;
  const SolverTurn turn{.seed = 5, .agent = AgentId{2}, .activation = {1, 30}};
  newton.ensure_hessian(HessianDetail::sketch, *trial.objective, turn, workspace, trial.cost);
  EXPECT_NEAR(static_cast<double>(trial.cost.hessian_samples), samples / 4, 2);
  const Vector& anchor = trial.anchor;
  newton.minimize({*trial.objective, anchor, trial.pull, {trial.coupling}, {trial.coupling}, none},
                  {.steps = 30, .decrease = 1e-12, .sketch = 1e-3}, turn, workspace, trial.cost);
  EXPECT_LT(trial.model_gradient(workspace.point).norm(), 1e-9);
  const auto before = trial.cost.hessian_samples;
  newton.ensure_hessian(HessianDetail::whole, *trial.objective, turn, workspace, trial.cost);
  EXPECT_EQ(trial.cost.hessian_samples, before) << "the last steps had computed one";
  const Matrix want = trial.mean_hessian(Trial::everyone(), workspace.point);
  EXPECT_LT((newton.hessian() - want).norm(), 0.2 * want.norm());
}

TEST(ProximalNewton, ASketchGivesWayToTheWholeHessianWhenThatIsAskedFor) {
  Trial trial;
  ProximalNewton newton(FullBatches{}, samples);
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

TEST(ProximalNewton, GoesOnFromASavedStateAsIfNothingHadHappened) {
  for (const Sampling& sampling : {Sampling{FullBatches{}}, Sampling{VarianceReduced{20, 30}},
                                   Sampling{AdaptiveBatches{20, 30}}}) {
    Trial trial;
    ProximalNewton original(sampling, samples), copy(sampling, samples);
    for (Round round = 1; round <= 3; ++round) trial.anchor = trial.activate(original, 2, round);
    ByteWriter writer;
    original.save(writer);
    ByteReader reader(writer.bytes());
    copy.load(reader, 2);
    ASSERT_TRUE(reader.finished());
    trial.pull = Vector::Unit(2, 1);
    trial.cost = {};
    const Vector expected = trial.activate(original, 3, 4);
    const Cost spent = std::exchange(trial.cost, {});
    EXPECT_EQ(trial.activate(copy, 3, 4), expected);
    EXPECT_EQ(trial.cost, spent);
  }
}

// One sample of class 1 with feature 1, from x = -10, stiffness 0.001: the slope there is -1 and
// the curvature 0.001 + 4.5e-5, so that a whole step ends near 946, where the coupling alone is
// worth 457. The model is worth 10 at the start; after three halvings it is worth about 7.
TEST(DampedSteps, AreCountedByEverySolverOnAnOvershootWorkedOutByHand) {
  const auto objective = make_shard_objective({DenseRows::Ones(1, 1), Vector::Ones(1)}, {});
  const Vector anchor = Vector::Constant(1, -10.0), pull = Vector::Zero(1);
  const std::vector<LocalSolverOptions> every{NewtonSteps{}, NewtonSteps{VarianceReduced{}},
                                              NewtonSteps{AdaptiveBatches{}}};
  for (const LocalSolverOptions& options : every) {
    Workspace workspace;
    workspace.fit(1);
    workspace.point = anchor;
    Cost cost;
    make_local_solver(options, *objective)
        ->solve({.objective = *objective,
                 .anchor = anchor,
                 .pull = pull,
                 .stiffness = 1e-3,
                 .tether = 1e-3},
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
  const Vector anchor = workspace.point, pull = Vector::Zero(1);
  Cost cost;
  make_local_solver(NewtonSteps{}, *objective)
      ->solve(
          {.objective = *objective, .anchor = anchor, .pull = pull, .stiffness = 1, .tether = 1},
          {.activation = {1, 5}}, workspace, cost);
  EXPECT_EQ(cost.damped_steps, 0u);
}

}  // namespace
}  // namespace grove
