#include "grove/train/measures.h"

#include <cmath>

#include <gtest/gtest.h>

#include "grove/train/stopping.h"

namespace grove {
namespace {

/// An agent that only stands somewhere.
class StandingAgent final : public Agent {
 public:
  explicit StandingAgent(Vector x, std::optional<Vector> theta = {})
      : x_(std::move(x)), theta_(std::move(theta)) {}
  void activate(const Activation&, Workspace&) override {}
  Message message_to(std::size_t) const override { return {}; }
  void receive(std::size_t, const Message&) override {}
  void end_round() override {}
  const Vector& estimate() const override { return x_; }
  const Vector* regularized_estimate() const override { return theta_ ? &*theta_ : nullptr; }
  const Cost& cost() const override { return cost_; }
  void save(ByteWriter&) const override {}
  Status load(ByteReader&) override { return success(); }

 private:
  Vector x_;
  std::optional<Vector> theta_;
  Cost cost_;
};

Vector number(double value) { return Vector::Constant(1, value); }

/// f_1 = (x - 1)^2 / 2 and f_2 = (x - 3)^2 / 2: the mean has gradient x - 2 and L = 1.
Instance two_parabolas(const Regularizer& regularizer) {
  Instance instance{
      .graph = *Graph::from_edges(2, {{AgentId{0}, AgentId{1}}}, "test"),
  };
  std::vector<const Objective*> parts;
  for (const double target : {1.0, 3.0}) {
    instance.objectives.push_back(make_shard_objective(
        {DenseRows::Constant(1, 1, 1), number(target)}, {.loss = SquaredLoss{}}));
    parts.push_back(instance.objectives.back().get());
  }
  instance.mean = make_mean_objective(std::move(parts));
  instance.regularizer = regularizer;
  instance.features = 1;
  instance.samples = 2;
  return instance;
}

std::vector<std::unique_ptr<Agent>> standing(double first, double second,
                                             std::optional<Vector> theta = {}) {
  std::vector<std::unique_ptr<Agent>> agents;
  agents.push_back(std::make_unique<StandingAgent>(number(first), std::move(theta)));
  agents.push_back(std::make_unique<StandingAgent>(number(second)));
  return agents;
}

// x_1 = 0, x_2 = 1: mean 0.5, spread 0.5; f there is (0.125 + 3.125) / 2; x* = 2.
TEST(Measures, AreThoseWorkedByHandOnTwoParabolas) {
  const Instance instance = two_parabolas({.regularized = 1});
  const ReferenceSolution reference{.x = number(2)};
  const Measures m = Measurer(instance, &reference).measure(standing(0, 1));
  EXPECT_DOUBLE_EQ(m.solution[0], 0.5);
  EXPECT_DOUBLE_EQ(m.objective, 1.625);
  EXPECT_DOUBLE_EQ(m.stationarity, 1.5);
  EXPECT_DOUBLE_EQ(m.consensus_error, 0.5);
  EXPECT_DOUBLE_EQ(m.mean_norm, 0.5);
  EXPECT_DOUBLE_EQ(m.squared_error, 4 + 1);
  EXPECT_TRUE(m.finite);
}

// With 0.25 |x|: the prox-gradient step from 0.5 goes to 0.5 + 1.5 - 0.25, hence moves by 1.25. The
// answer is theta = 1.75, the optimum, with objective (0.28125 + 0.78125) / 2 + 0.4375.
TEST(Measures, TakeThetaAsTheSolutionWhereThereIsOne) {
  const Instance instance = two_parabolas({.l1 = 0.25, .regularized = 1});
  const Measures m = Measurer(instance, nullptr).measure(standing(0, 1, number(1.75)));
  EXPECT_DOUBLE_EQ(m.solution[0], 1.75);
  EXPECT_DOUBLE_EQ(m.objective, 0.53125 + 0.4375);
  EXPECT_DOUBLE_EQ(m.stationarity, 1.25);
  EXPECT_DOUBLE_EQ(m.mean_norm, 0.5);
  EXPECT_DOUBLE_EQ(Measurer(instance, nullptr).measure(standing(1.75, 1.75)).stationarity, 0);
}

// Below its threshold the prox-gradient step from 0 stays: 0 is optimal when |gradient| <= l1.
TEST(Measures, ZeroIsStationaryWhereTheL1WeightOutweighsTheGradient) {
  const Instance instance = two_parabolas({.l1 = 2.5, .regularized = 1});
  EXPECT_EQ(Measurer(instance, nullptr).measure(standing(0, 0)).stationarity, 0);
}

// All features are 0, so that f = (1 + 9) / 4 everywhere: with |x| of weight 0.1 the optimum is 0.
TEST(Measures, ZeroIsStationaryWhereTheDataSaysNothing) {
  Instance instance = two_parabolas({.l1 = 0.1, .regularized = 1});
  std::vector<const Objective*> parts;
  for (std::size_t i = 0; i < 2; ++i) {
    instance.objectives[i] = make_shard_objective({DenseRows::Zero(1, 1), number(i == 0 ? 1 : 3)},
                                                  {.loss = SquaredLoss{}});
    parts.push_back(instance.objectives[i].get());
  }
  instance.mean = make_mean_objective(std::move(parts));
  const Measures m = Measurer(instance, nullptr).measure(standing(0, 0));
  EXPECT_EQ(m.stationarity, 0);
  EXPECT_EQ(m.step_length, 0);
  EXPECT_EQ(m.objective, 2.5);
}

// The mean of 0 and 2e-9 is not 0, however small: the count agrees with the solution.
TEST(Measures, CountTheNonzerosOfTheSolutionItself) {
  const Instance instance = two_parabolas({.l1 = 2.5, .regularized = 1});
  Measurer measurer(instance, nullptr);
  EXPECT_EQ(measurer.measure(standing(0, 0)).nonzeros, 0);
  EXPECT_EQ(measurer.measure(standing(0, 2e-9)).nonzeros, 1);
  EXPECT_EQ(measurer.measure(standing(0, 2, number(0))).nonzeros, 0);
  EXPECT_EQ(measurer.measure(standing(0, 0, number(1))).nonzeros, 1);
}

std::vector<std::unique_ptr<Agent>> standing_at(const std::vector<double>& positions) {
  std::vector<std::unique_ptr<Agent>> agents;
  for (const double position : positions)
    agents.push_back(std::make_unique<StandingAgent>(number(position)));
  return agents;
}

// The gradient at 0 is -2: with 2.5 |x| the optimum is 0, with 0.5 |x| it is 1.5.
TEST(Measures, WhereEveryAgentAppliesRTheAnswerHasTheZerosOfMostAgents) {
  const Instance instance = two_parabolas({.l1 = 2.5, .low = -9, .high = 4, .regularized = 1});
  Measurer measurer(instance, nullptr, Answer::majority_support);
  const Measures most = measurer.measure(standing_at({0, 0.3, 0}));
  EXPECT_EQ(most.solution[0], 0) << "two of three are at zero";
  EXPECT_EQ(most.nonzeros, 0);
  EXPECT_EQ(most.objective, (1 + 9) / 4.0) << "at the solution, not at the mean";
  EXPECT_EQ(most.stationarity, 0) << "of the solution";
  EXPECT_NEAR(most.mean_norm, 0.1, 1e-15);
  EXPECT_NEAR(measurer.measure(standing_at({0, 0.3, 0.3, 0})).solution[0], 0.15, 1e-15) << "half";
  EXPECT_EQ(measurer.measure(standing_at({4, 1, 4})).solution[0], 4) << "a bound";
  EXPECT_EQ(measurer.measure(standing_at({0.3, 0, 0})).solution[0], 0) << "whoever they are";
  EXPECT_NEAR(Measurer(instance, nullptr).measure(standing_at({0, 0.3, 0})).solution[0], 0.1, 1e-15)
      << "other methods: the mean";
}

TEST(Measures, OverflownIteratesAreNotFinite) {
  const Instance instance = two_parabolas({.regularized = 1});
  Measurer measurer(instance, nullptr);
  EXPECT_FALSE(measurer.measure(standing(std::nan(""), 1)).finite);
  EXPECT_FALSE(measurer.measure(standing(INFINITY, 1)).finite);
  EXPECT_FALSE(measurer.measure(standing(1e200, -1e200)).finite);
  EXPECT_FALSE(measurer.measure(standing(1, 1, number(std::nan("")))).finite);
}

// Ten agents exactly at the bound 0.1: their floating-point mean is 0.09999999999999999 (or the
// like), which must not count as a point outside the box with an infinite objective.
TEST(Measures, TheMeanOfPointsInABoxIsInTheBox) {
  Instance instance = two_parabolas({.low = 0.1, .high = 0.1 + 1e-9, .regularized = 1});
  std::vector<std::unique_ptr<Agent>> agents;
  for (int i = 0; i < 10; ++i) agents.push_back(std::make_unique<StandingAgent>(number(0.1)));
  const Measures m = Measurer(instance, nullptr).measure(agents);
  EXPECT_EQ(m.solution[0], 0.1);
  EXPECT_NEAR(m.objective, (0.81 + 8.41) / 4, 1e-12);
}

TEST(Stopping, NeedsStationarityAndConsensusEachOnItsOwnScale) {
  const Measures start{.objective = 1, .stationarity = 20};
  const Stopping stopping(1e-3, start);
  const auto converged = [&](double stationarity, double consensus, double norm) {
    return stopping.converged(
        {.stationarity = stationarity, .consensus_error = consensus, .mean_norm = norm});
  };
  EXPECT_TRUE(converged(0.02, 0.005, 5));
  EXPECT_FALSE(converged(0.021, 0.005, 5)) << "stationarity above 1e-3 of its start";
  EXPECT_FALSE(converged(0.02, 0.0051, 5)) << "consensus error above 1e-3 of the mean's norm";
}

// The answer may be zero, and then so is the mean's norm: the first step gives the scale.
TEST(Stopping, AgreesOnZeroOnTheScaleOfTheFirstStep) {
  const Stopping stopping(1e-3, {.stationarity = 20, .step_length = 4});
  EXPECT_TRUE(stopping.converged({.consensus_error = 0.004}));
  EXPECT_FALSE(stopping.converged({.consensus_error = 0.0041}));
}

// Balanced classes: the terms of the first gradient cancel but for rounding, of which nothing can
// be gained.
TEST(Stopping, WhatRoundingLeavesAtAnOptimumIsConverged) {
  const Measures start{.stationarity = 1e-17, .stationarity_bound = 0.6, .step_bound = 1.2};
  const Stopping stopping(1e-6, start);
  EXPECT_TRUE(stopping.converged(start));
  EXPECT_FALSE(stopping.converged({.stationarity = 1e-15}));
  EXPECT_FALSE(stopping.converged({.consensus_error = 1e-14}));
}

TEST(Stopping, AToleranceOfZeroNeverStops) {
  const Stopping stopping(0, {.stationarity = 1});
  EXPECT_FALSE(stopping.converged({.stationarity = 0, .consensus_error = 0, .mean_norm = 1}));
}

TEST(Stopping, DivergedMeansOverflowOrAMillionTimesTheFirstObjective) {
  const Stopping stopping(1e-6, {.objective = -2});
  EXPECT_FALSE(stopping.diverged({.objective = 1.9e6}));
  EXPECT_TRUE(stopping.diverged({.objective = 2.1e6}));
  EXPECT_TRUE(stopping.diverged({.objective = 0, .finite = false}));
}

}  // namespace
}  // namespace grove
