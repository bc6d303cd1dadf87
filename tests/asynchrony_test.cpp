// Agents that are inactive at random, lost and late messages, agents that are rolled back: what the
// two kinds of coupling guarantee, and why the printed asynchronous rule is neither of them.

#include <algorithm>

#include <gtest/gtest.h>
#include <Eigen/Cholesky>

#include "support/network.h"

namespace grove::testing_support {
namespace {

/// Eight agents on a ring with a chord; each agent's targets are shifted by its number, so that
/// their own optima lie far apart.
Problem unlike_agents(double l1 = 0.02) {
  Problem problem = make_problem({.agents = 8,
                                  .samples = 160,
                                  .features = 4,
                                  .terms = {.loss = SquaredLoss{}, .l2 = 0.1},
                                  .l1 = l1});
  problem.graph =
      graph_of(8, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}, {7, 0}, {2, 6}});
  for (std::size_t i = 0; i < problem.agents(); ++i)
    for (Index j = 0; j < problem.shards[i].count(); ++j)
      problem.shards[i].targets[j] +=
          (static_cast<double>(i) - 3.5) * row_of(problem, i, j)[static_cast<Index>(i % 4)];
  return problem;
}

MethodCase druid_vl(LinkKind kind) {
  return {"",
          DruidOptions{.coupling = {.kind = kind, .weighting = FixedPenalty{0.3}},
                       .prox = 0.2,
                       .theta_penalty = 0.6},
          3};
}

/// sum_i |x_i - x*|^2 / sum_i |x_i^0 - x*|^2, x_i^0 = 0.
double relative_error(const Agents& agents, const Vector& optimum) {
  return squared_distance(agents, optimum) /
         (static_cast<double>(agents.size()) * optimum.squaredNorm());
}

/// Rounds until the relative error is at most 1e-12; `limit` if it never is.
Round rounds_to_optimum(Simulator& simulator, const Vector& optimum, Round limit) {
  while (relative_error(simulator.agents(), optimum) > 1e-12 && simulator.round() < limit)
    simulator.advance();
  return simulator.round();
}

/// The reference, after the test's own loops agree that it is the optimum.
Vector checked_optimum(const Problem& problem) {
  const Vector optimum = problem.prepared().reference->x;
  EXPECT_LT(optimality_violation(problem, optimum), 1e-11);
  return optimum;
}

class BothCouplings : public testing::TestWithParam<LinkKind> {};
INSTANTIATE_TEST_SUITE_P(Asynchrony, BothCouplings,
                         testing::Values(LinkKind::broadcast, LinkKind::edge),
                         [](const testing::TestParamInfo<LinkKind>& kind) {
                           return kind.param == LinkKind::edge ? "Edge" : "Broadcast";
                         });

TEST_P(BothCouplings, ReachTheOptimumWithTwoOfFiveAgentsActive) {
  const Problem problem = unlike_agents();
  const Instance instance = problem.instance();
  Simulator simulator = simulate(druid_vl(GetParam()), instance, {.participation = 0.4});
  const Vector optimum = checked_optimum(problem);
  EXPECT_LT(rounds_to_optimum(simulator, optimum, 3000), 3000u);
  for (int more = 0; more < 1000; ++more) simulator.advance();
  EXPECT_LT(relative_error(simulator.agents(), optimum), 1e-24) << "up to rounding";
}

TEST_P(BothCouplings, ReachTheOptimumWhenAgentsHaveVeryDifferentSpeeds) {
  const Problem problem = unlike_agents();
  const Instance instance = problem.instance();
  const MethodCase method = druid_vl(GetParam());
  Simulator simulator(make_agents_of(method, instance), instance.graph,
                      Schedule(1, {0.05, 1, 1, 0.3, 1, 0.9, 0.1, 1}, {1, 9, 2, 5, 1, 1, 3, 7}),
                      {.threads = 1});
  EXPECT_LT(rounds_to_optimum(simulator, checked_optimum(problem), 5000), 5000u);
}

/// Agents whose Hessian lies between the penalties that the tests below use: the number of rounds
/// grows with the ratio of the two, whichever is larger.
Problem gently_curved_agents() {
  Problem problem = unlike_agents(0);
  problem.terms.scale = 0.03;
  return problem;
}

// Every other agent is active in one round of ten only. The links of a pair then have one active
// end most of the time. Oracle: the optimum.
TEST_P(BothCouplings, ReachTheOptimumWithUnequalParticipationWhateverTheFixedPenalty) {
  const Problem problem = gently_curved_agents();
  const Instance instance = problem.instance();
  const Vector optimum = checked_optimum(problem);
  for (const double penalty : {1e-3, 1e-2, 1.0}) {
    const MethodCase method{
        "", DruidOptions{.coupling = {.kind = GetParam(), .weighting = FixedPenalty{penalty}}}, 1};
    Simulator simulator =
        simulate(method, instance, {.participation_of = {1, 0.1, 1, 0.1, 1, 0.1, 1, 0.1}});
    EXPECT_LT(rounds_to_optimum(simulator, optimum, 40000), 40000u) << "penalty " << penalty;
  }
}

// The same with a regularizer, a penalty above the Hessian, and even rarer activity.
TEST(BroadcastCoupling, ReachesTheOptimumOfAnL1ProblemWithVeryUnequalParticipation) {
  const Problem problem = unlike_agents();
  const Instance instance = problem.instance();
  MethodCase method = druid_vl(LinkKind::broadcast);
  std::get<DruidOptions>(method.options).coupling.weighting = FixedPenalty{3};
  Simulator simulator =
      simulate(method, instance, {.participation_of = {1, 0.05, 1, 0.05, 1, 0.05, 1, 0.05}});
  EXPECT_LT(rounds_to_optimum(simulator, checked_optimum(problem), 20000), 20000u);
}

// With fixed penalties this holds whoever is active, as long as no message is lost or late.
TEST(Coupling, BothKindsGiveTheSameIteratesInLockStepRounds) {
  const Problem problem = unlike_agents();
  const Instance instance = problem.instance();
  for (const double participation : {1.0, 0.4}) {
    const SimulationOptions options{.participation = participation};
    Simulator broadcast = simulate(druid_vl(LinkKind::broadcast), instance, options);
    Simulator edge = simulate(druid_vl(LinkKind::edge), instance, options);
    for (int round = 1; round <= 60; ++round) {
      broadcast.advance();
      edge.advance();
      for (std::size_t i = 0; i < instance.agents(); ++i)
        ASSERT_LT((broadcast.agents()[i]->estimate() - edge.agents()[i]->estimate()).norm(), 1e-12)
            << "agent " << i << " in round " << round << ", participation " << participation;
    }
  }
}

TEST(EdgeCoupling, ReachesTheOptimumAlthoughThreeOfTenMessagesAreLost) {
  const Problem problem = unlike_agents();
  const Instance instance = problem.instance();
  Simulator simulator = simulate(druid_vl(LinkKind::edge), instance,
                                 {.participation = 0.4, .faults = {.loss_rate = 0.3}});
  EXPECT_LT(rounds_to_optimum(simulator, checked_optimum(problem), 5000), 5000u);
}

TEST(EdgeCoupling, ReachesTheOptimumAlthoughMessagesAreLostAndUpToFiveRoundsLate) {
  const Problem problem = unlike_agents();
  const Instance instance = problem.instance();
  Simulator simulator = simulate(druid_vl(LinkKind::edge), instance,
                                 {.participation = 0.4, .faults = {.loss_rate = 0.3, .delay = 5}});
  EXPECT_LT(rounds_to_optimum(simulator, checked_optimum(problem), 5000), 5000u);
}

// The agent that is rolled back is the one that has come farthest since.
TEST(EdgeCoupling, RecoversAfterAnAgentIsRolledBackByFiftyRounds) {
  const Problem problem = unlike_agents();
  const Instance instance = problem.instance();
  const Vector optimum = checked_optimum(problem);
  Simulator simulator = simulate(druid_vl(LinkKind::edge), instance,
                                 {.participation = 0.4, .faults = {.loss_rate = 0.3, .delay = 5}});
  const Agents& agents = simulator.agents();
  for (int round = 1; round <= 100; ++round) simulator.advance();
  std::vector<std::string> states;
  std::vector<double> gains;
  for (const auto& agent : agents) {
    states.push_back(state_of(*agent));
    gains.push_back((agent->estimate() - optimum).norm());
  }
  for (int round = 101; round <= 150; ++round) simulator.advance();
  for (std::size_t i = 0; i < agents.size(); ++i)
    gains[i] -= (agents[i]->estimate() - optimum).norm();
  const auto farthest = static_cast<std::size_t>(std::ranges::max_element(gains) - gains.begin());
  const double before = relative_error(agents, optimum);
  ASSERT_TRUE(restore(*agents[farthest], states[farthest]));
  EXPECT_GT(relative_error(agents, optimum), 1.5 * before)
      << "the rollback should increase the error";
  EXPECT_LT(rounds_to_optimum(simulator, optimum, 5000), 5000u);
}

// Theta and lambda are rolled back with it.
TEST(EdgeCoupling, RecoversAfterTheHolderOfTheRegularizerIsRolledBack) {
  const Problem problem = unlike_agents();
  const Instance instance = problem.instance();
  Simulator simulator = simulate(druid_vl(LinkKind::edge), instance, {.participation = 0.4});
  const std::string old_state = state_of(*simulator.agents()[0]);
  for (int round = 1; round <= 50; ++round) simulator.advance();
  ASSERT_TRUE(restore(*simulator.agents()[0], old_state));
  EXPECT_LT(rounds_to_optimum(simulator, checked_optimum(problem), 5000), 5000u);
}

// A forged message moves u_ij half of the way to any garbage; nothing in the state is right then.
TEST(EdgeCoupling, RecoversFromGarbageInItsState) {
  const Problem problem = unlike_agents();
  const Instance instance = problem.instance();
  const Vector optimum = checked_optimum(problem);
  Simulator simulator = simulate(druid_vl(LinkKind::edge), instance, {.participation = 0.4});
  for (int round = 1; round <= 30; ++round) simulator.advance();
  const std::vector<double> garbage{1e3, -7e2, 4e3, 5};
  for (const std::size_t agent : {1u, 4u, 6u})
    simulator.agents()[agent]->receive(
        0, {.sender = {}, .sequence = simulator.round() + 1, .vector = garbage});
  simulator.advance();
  EXPECT_GT(relative_error(simulator.agents(), optimum), 1)
      << "the garbage should increase the error";
  EXPECT_LT(rounds_to_optimum(simulator, optimum, 5000), 5000u);
}

/// DRUID-Newton on quadratics without a regularizer, in a few lines and without the library's
/// agents. As printed: each agent has a dual phi_i, which it updates when it is active.
class PrintedRule {
 public:
  PrintedRule(const Problem& problem, double penalty)
      : graph_(problem.graph),
        penalty_(penalty),
        phi_(problem.agents(), Vector::Zero(problem.dimension())) {}

  Vector gradient(std::uint32_t i, const std::vector<Vector>& x) const {
    Vector sum = phi_[i];
    for (const AgentId j : graph_.neighbours(AgentId{i}))
      sum += 0.5 * penalty_ * (x[i] - x[j.value]);
    return sum;
  }
  void end_round(const std::vector<Vector>& x, const std::vector<bool>& active) {
    for (std::uint32_t i = 0; i < x.size(); ++i)
      for (const AgentId j : graph_.neighbours(AgentId{i}))
        if (active[i]) phi_[i] += 0.5 * penalty_ * (x[i] - x[j.value]);
  }

 private:
  const Graph& graph_;
  double penalty_;
  std::vector<Vector> phi_;
};

/// As the comment of Coupling defines it: each active end of a link moves z half of the way towards
/// its x, and the duals of the two ends, which are opposite, by as much times the penalty.
class EdgeVariableRule {
 public:
  EdgeVariableRule(const Problem& problem, double penalty)
      : edges_(problem.graph.edges()),
        penalty_(penalty),
        z_(edges_.size(), Vector::Zero(problem.dimension())),
        dual_(z_) {}

  Vector gradient(std::uint32_t i, const std::vector<Vector>& x) const {
    Vector sum = Vector::Zero(x[i].size());
    for (std::size_t e = 0; e < edges_.size(); ++e) {
      if (edges_[e].first.value == i) sum += dual_[e] + penalty_ * (x[i] - z_[e]);
      if (edges_[e].second.value == i) sum += penalty_ * (x[i] - z_[e]) - dual_[e];
    }
    return sum;
  }
  void end_round(const std::vector<Vector>& x, const std::vector<bool>& active) {
    for (std::size_t e = 0; e < edges_.size(); ++e) {
      const std::uint32_t i = edges_[e].first.value, j = edges_[e].second.value;
      const Vector z = z_[e];
      if (active[i]) {
        z_[e] += 0.5 * (x[i] - z);
        dual_[e] += 0.5 * penalty_ * (x[i] - z);
      }
      if (active[j]) {
        z_[e] += 0.5 * (x[j] - z);
        dual_[e] -= 0.5 * penalty_ * (x[j] - z);
      }
    }
  }

 private:
  std::span<const Edge> edges_;
  double penalty_;
  std::vector<Vector> z_, dual_;  ///< by edge; the dual of its first end
};

template <class Rule>
std::vector<Vector> iterates_after(int rounds, double participation, const Problem& problem) {
  constexpr double penalty = 0.3, prox = 0.2;
  const std::size_t n = problem.agents();
  const Index d = problem.dimension();
  Rule rule(problem, penalty);
  std::vector<Vector> x(n, Vector::Zero(d));
  const Schedule schedule(1, std::vector<double>(n, participation), std::vector<int>(n, 1));
  for (int round = 1; round <= rounds; ++round) {
    std::vector<bool> active(n);
    const std::vector<Vector> before = x;
    for (std::uint32_t i = 0; i < n; ++i) {
      active[i] = schedule.activation(AgentId{i}, static_cast<Round>(round)).has_value();
      if (!active[i]) continue;
      const Vector gradient = plain_gradient(problem, i, before[i]) + rule.gradient(i, before);
      const double weight = penalty * static_cast<double>(problem.graph.degree(AgentId{i})) + prox;
      const Matrix hessian = plain_hessian(problem, i, before[i]) + weight * Matrix::Identity(d, d);
      x[i] -= hessian.llt().solve(gradient);
    }
    rule.end_round(x, active);
  }
  return x;
}

double relative_error(const std::vector<Vector>& x, const Vector& optimum) {
  double sum = 0;
  for (const Vector& estimate : x) sum += (estimate - optimum).squaredNorm();
  return sum / (static_cast<double>(x.size()) * optimum.squaredNorm());
}

// Updating phi_i at active agents only, as printed, lets sum_i phi_i drift from zero: the agents
// agree, but on the wrong point. With everyone active the rules are the same.
TEST(PrintedDualRule, StallsUnderPartialParticipationWhereOursConverges) {
  const Problem problem = unlike_agents(0);
  const Vector optimum = checked_optimum(problem);
  const auto printed = [&](int rounds, double participation) {
    return iterates_after<PrintedRule>(rounds, participation, problem);
  };
  const auto ours = [&](int rounds, double participation) {
    return iterates_after<EdgeVariableRule>(rounds, participation, problem);
  };
  EXPECT_LT(relative_error(printed(600, 1), optimum), 1e-12);
  const std::vector<Vector> one = printed(50, 1), other = ours(50, 1);
  for (std::size_t i = 0; i < problem.agents(); ++i)
    EXPECT_LT((one[i] - other[i]).norm(), 1e-12) << "agent " << i;

  const double stalled = relative_error(printed(1500, 0.4), optimum);
  EXPECT_GT(stalled, 1e-2);
  EXPECT_NEAR(relative_error(printed(3000, 0.4), optimum), stalled, 1e-6 * stalled)
      << "more rounds do not help";
  EXPECT_LT(relative_error(ours(1500, 0.4), optimum), 1e-12);
}

TEST_P(BothCouplings, FollowTheRuleOfTheirDefinitionUnderPartialParticipation) {
  const Problem problem = unlike_agents(0);
  const Instance instance = problem.instance();
  MethodCase newton = druid_vl(GetParam());
  newton.work = 1;
  Simulator simulator = simulate(newton, instance, {.participation = 0.4});
  for (int round = 1; round <= 60; ++round) simulator.advance();
  const std::vector<Vector> expected = iterates_after<EdgeVariableRule>(60, 0.4, problem);
  for (std::size_t i = 0; i < instance.agents(); ++i)
    EXPECT_LT((simulator.agents()[i]->estimate() - expected[i]).norm(), 1e-11) << "agent " << i;
  for (int round = 61; round <= 1500; ++round) simulator.advance();
  EXPECT_LT(relative_error(simulator.agents(), checked_optimum(problem)), 1e-12);
}

}  // namespace
}  // namespace grove::testing_support
