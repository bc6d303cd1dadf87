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

/// Two rows in the trace of a run that has come to rest.
std::vector<TracePoint> at_rest(double objective) {
  return {{.round = 1, .objective = objective}, {.round = 2, .objective = objective}};
}

// The optimum is 0.5, at 2. At 2 + e the gap is e^2 / 2, and an agent that is s away from the
// answer has s^2 / 2.
TEST(StoppingRule, NeedsACertifiedGapAndAgreementWithinTheTolerance) {
  const Instance instance = two_parabolas({.regularized = 1});
  const auto converged = [&](double first, double second, double tolerance) {
    const Measures start{.objective = 2.5, .stationarity = 2};
    StoppingRule rule(instance, tolerance, start);
    const Estimates estimates = estimates_of(standing(first, second));
    const Measures now = Measurer(instance, nullptr).measure(estimates);
    return rule.converged(now, estimates, at_rest(now.objective));
  };
  const double gap = 0.5 * 0.01 * 0.01 / 0.5;  // relative, at 2.01
  EXPECT_TRUE(converged(2.01, 2.01, 1.001 * gap));
  EXPECT_FALSE(converged(2.01, 2.01, 0.999 * gap)) << "the gap is above the tolerance";
  EXPECT_TRUE(converged(1.99, 2.01, 1.001 * gap));
  EXPECT_FALSE(converged(1.99, 2.01, 0.999 * gap)) << "the answer is exact, but agents disagree";
  EXPECT_FALSE(converged(2, 2, 0)) << "a tolerance of 0 never stops";
}

// Units of the only column do not change the verdict.
TEST(StoppingRule, GivesTheRelativeGapWhateverTheUnits) {
  for (const double unit : {1e-8, 1.0, 1e8}) {
    Instance instance = two_parabolas({.regularized = 1});
    instance.objectives.clear();
    std::vector<const Objective*> parts;
    for (const double target : {1.0, 3.0}) {
      instance.objectives.push_back(make_shard_objective(
          {DenseRows::Constant(1, 1, unit), number(target)}, {.loss = SquaredLoss{}}));
      parts.push_back(instance.objectives.back().get());
    }
    instance.mean = make_mean_objective(std::move(parts));
    set_scaling(instance, /*intercept=*/false);
    const Estimates estimates = estimates_of(standing(2.2 / unit, 2.2 / unit));
    const Measures now = Measurer(instance, nullptr).measure(estimates);
    StoppingRule rule(instance, 1e-6, {.objective = 2.5});
    EXPECT_NEAR(*rule.gap_bound(now), 0.5 * 0.2 * 0.2 / 0.5, 1e-9) << unit;
  }
}

// Both agents at 2, where 0.3 |x| makes 1.7 optimal: a group lasso of one coordinate.
TEST(StoppingRule, GoesByStationarityWhereTheRegularizerIsNotSeparable) {
  class Absolute final : public RegularizerTerm {
    double value(const Vector& x) const override { return 0.3 * std::abs(x[0]); }
    void prox(double step, const Vector& v, Vector& result) const override {
      result[0] = std::copysign(std::max(0.0, std::abs(v[0]) - 0.3 * step), v[0]);
    }
  };
  const Instance instance = two_parabolas({.regularized = 1, .term = std::make_shared<Absolute>()});
  StoppingRule rule(instance, 1e-3, {.objective = 1, .stationarity = 1, .step_length = 1});
  const auto converged = [&](double x) {
    const Estimates estimates = estimates_of(standing(x, x));
    const Measures now = Measurer(instance, nullptr).measure(estimates);
    EXPECT_FALSE(rule.gap_bound(now));
    return rule.converged(now, estimates, at_rest(now.objective));
  };
  EXPECT_TRUE(converged(1.7009));
  EXPECT_FALSE(converged(1.7011));
}

// A million times the objective of the start in round 1 says nothing about the future.
TEST(Diverged, MeansOverflowOrARunThatStaysFarAboveItsStart) {
  const auto diverged = [](double high, Round from, bool beyond_bound) {
    std::vector<TracePoint> trace;
    for (Round round = 0; round <= 150; ++round)
      trace.push_back({.round = round, .objective = round > from ? high : 1});
    return has_diverged({.objective = high}, trace, beyond_bound);
  };
  EXPECT_TRUE(has_diverged({.finite = false}, at_rest(1), false));
  EXPECT_FALSE(has_diverged({.objective = 1e9}, at_rest(1e9), false));
  EXPECT_TRUE(diverged(2e6, 50, false));
  EXPECT_FALSE(diverged(2e6, 51, false)) << "one of the last hundred rounds was below";
  EXPECT_FALSE(diverged(0.9e6, 50, false));
  EXPECT_TRUE(diverged(1.1, 50, true));
}

}  // namespace
}  // namespace grove
