// Agents that rest at random, lose messages, hear them late, fall back to an old state: what the
// two kinds of links promise, and why the printed asynchronous rule is not one of them.

#include <gtest/gtest.h>
#include <algorithm>

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

MethodCase druid_vl(LinkKind link) {
  return {"", DruidOptions{.link = link, .penalty = 0.3, .theta_penalty = 0.6, .prox = 0.2}, 3};
}

/// sum_i |x_i - x*|^2 / sum_i |x_i^0 - x*|^2, x_i^0 = 0.
double relative_error(const Agents& agents, const Vector& optimum) {
  return squared_distance(agents, optimum) /
         (static_cast<double>(agents.size()) * optimum.squaredNorm());
}

/// Rounds until the relative error is at most 1e-12; `limit` if it never is.
Round rounds_until_there(Simulator& simulator, const Vector& optimum, Round limit) {
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

class BothLinks : public testing::TestWithParam<LinkKind> {};
INSTANTIATE_TEST_SUITE_P(Asynchrony, BothLinks,
                         testing::Values(LinkKind::broadcast, LinkKind::edge),
                         [](const testing::TestParamInfo<LinkKind>& link) {
                           return link.param == LinkKind::edge ? "Edge" : "Broadcast";
                         });

TEST_P(BothLinks, ReachTheOptimumWithTwoOfFiveAgentsActive) {
  const Problem problem = unlike_agents();
  const Instance instance = problem.instance();
  Simulator simulator = simulate(druid_vl(GetParam()), instance, {.participation = 0.4});
  const Vector optimum = checked_optimum(problem);
  EXPECT_LT(rounds_until_there(simulator, optimum, 3000), 3000u);
  for (int more = 0; more < 1000; ++more) simulator.advance();
  EXPECT_LT(relative_error(simulator.agents(), optimum), 1e-24) << "it goes on to rounding";
}

TEST_P(BothLinks, ReachTheOptimumWhenAgentsHaveVeryDifferentSpeeds) {
  const Problem problem = unlike_agents();
  const Instance instance = problem.instance();
  const MethodCase method = druid_vl(GetParam());
  Simulator simulator(make_agents_of(method, instance), instance.graph,
                      Schedule(1, {0.05, 1, 1, 0.3, 1, 0.9, 0.1, 1}, {1, 9, 2, 5, 1, 1, 3, 7}),
                      {.threads = 1});
  EXPECT_LT(rounds_until_there(simulator, checked_optimum(problem), 5000), 5000u);
}

// As math.md has them, broadcast links diverge here: while one end rests its dual moves by the same
// vector in every round. It documents why we differ where rates are unequal.
TEST(BroadcastLinks, ReachTheOptimumAtUnequalRatesOnlyIfLoneMovesCountLess) {
  const Problem problem = unlike_agents();
  const Instance instance = problem.instance();
  const Vector optimum = checked_optimum(problem);
  const auto simulator_with = [&](bool unequal_rates) {
    MethodCase method = druid_vl(LinkKind::broadcast);
    auto& options = std::get<DruidOptions>(method.options);
    options.penalty = 3;
    options.unequal_rates = unequal_rates;
    return Simulator(make_agents_of(method, instance), instance.graph,
                     Schedule(1, {1, 0.05, 1, 0.05, 1, 0.05, 1, 0.05}, std::vector<int>(8, 3)),
                     {.threads = 1});
  };
  Simulator printed = simulator_with(false), ours = simulator_with(true);
  for (int round = 0; round < 5000; ++round) printed.advance();
  EXPECT_FALSE(relative_error(printed.agents(), optimum) < 1e3);
  EXPECT_LT(rounds_until_there(ours, optimum, 20000), 20000u);
}

TEST(Links, BothKindsGiveTheSameIteratesWhenEveryoneIsActive) {
  const Problem problem = unlike_agents();
  const Instance instance = problem.instance();
  Simulator broadcast = simulate(druid_vl(LinkKind::broadcast), instance);
  Simulator edge = simulate(druid_vl(LinkKind::edge), instance);
  for (int round = 1; round <= 60; ++round) {
    broadcast.advance();
    edge.advance();
    for (std::size_t i = 0; i < instance.agents(); ++i)
      ASSERT_LT((broadcast.agents()[i]->estimate() - edge.agents()[i]->estimate()).norm(), 1e-12)
          << "agent " << i << " in round " << round;
  }
}

TEST(EdgeLinks, ReachTheOptimumAlthoughThreeOfTenMessagesAreLost) {
  const Problem problem = unlike_agents();
  const Instance instance = problem.instance();
  Simulator simulator = simulate(druid_vl(LinkKind::edge), instance,
                                 {.participation = 0.4, .faults = {.loss_rate = 0.3}});
  EXPECT_LT(rounds_until_there(simulator, checked_optimum(problem), 5000), 5000u);
}

TEST(EdgeLinks, ReachTheOptimumAlthoughMessagesAreLostAndUpToFiveRoundsLate) {
  const Problem problem = unlike_agents();
  const Instance instance = problem.instance();
  Simulator simulator = simulate(druid_vl(LinkKind::edge), instance,
                                 {.participation = 0.4, .faults = {.loss_rate = 0.3, .delay = 5}});
  EXPECT_LT(rounds_until_there(simulator, checked_optimum(problem), 5000), 5000u);
}

// The agent that falls back is the one that has come farthest since.
TEST(EdgeLinks, RecoverAfterAnAgentFallsBackToAFiftyRoundOldState) {
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
  EXPECT_GT(relative_error(agents, optimum), 1.5 * before) << "the fall should hurt";
  EXPECT_LT(rounds_until_there(simulator, optimum, 5000), 5000u);
}

// The holder of r falls back as well: theta and lambda with it.
TEST(EdgeLinks, RecoverAfterTheHolderOfTheRegularizerFallsBack) {
  const Problem problem = unlike_agents();
  const Instance instance = problem.instance();
  Simulator simulator = simulate(druid_vl(LinkKind::edge), instance, {.participation = 0.4});
  const std::string old_state = state_of(*simulator.agents()[0]);
  for (int round = 1; round <= 50; ++round) simulator.advance();
  ASSERT_TRUE(restore(*simulator.agents()[0], old_state));
  EXPECT_LT(rounds_until_there(simulator, checked_optimum(problem), 5000), 5000u);
}

// A forged message overwrites u_ij with half of any garbage; nothing in the state is then right.
TEST(EdgeLinks, HealFromGarbageInTheirState) {
  const Problem problem = unlike_agents();
  const Instance instance = problem.instance();
  const Vector optimum = checked_optimum(problem);
  Simulator simulator = simulate(druid_vl(LinkKind::edge), instance, {.participation = 0.4});
  for (int round = 1; round <= 30; ++round) simulator.advance();
  const std::vector<double> garbage{1e3, -7e2, 4e3, 5};
  for (const std::size_t agent : {1u, 4u, 6u})
    simulator.agents()[agent]->receive(
        0, {.from = {}, .sequence = simulator.round() + 1, .payload = garbage});
  simulator.advance();
  EXPECT_GT(relative_error(simulator.agents(), optimum), 1) << "the garbage should hurt";
  EXPECT_LT(rounds_until_there(simulator, optimum, 5000), 5000u);
}

/// Broadcast DRUID-Newton on quadratics, in a few lines and without the library's agents: x_i and
/// phi_i by agent, no regularizer. The two rules differ in who updates phi at the end of a round.
enum class DualRule { active_agents_only, both_ends_of_active_links };

double error_after(int rounds, DualRule rule, double participation, const Problem& problem,
                   const Vector& optimum) {
  constexpr double penalty = 0.3, prox = 0.2;
  const std::size_t n = problem.agents();
  const Index d = problem.dimension();
  std::vector<Vector> x(n, Vector::Zero(d)), phi(n, Vector::Zero(d));
  const Schedule schedule(1, std::vector<double>(n, participation), std::vector<int>(n, 1));
  for (int round = 1; round <= rounds; ++round) {
    std::vector<bool> active(n);
    const std::vector<Vector> heard = x;
    for (std::uint32_t i = 0; i < n; ++i) {
      active[i] = schedule.activation(AgentId{i}, static_cast<Round>(round)).has_value();
      if (!active[i]) continue;
      const auto neighbours = problem.graph.neighbours(AgentId{i});
      Vector gradient = plain_gradient(problem, i, x[i]) + phi[i];
      for (const AgentId j : neighbours) gradient += 0.5 * penalty * (x[i] - heard[j.value]);
      const double stiffness = penalty * static_cast<double>(neighbours.size()) + prox;
      const Matrix hessian = plain_hessian(problem, i, x[i]) + stiffness * Matrix::Identity(d, d);
      x[i] -= hessian.llt().solve(gradient);
    }
    for (std::uint32_t i = 0; i < n; ++i)
      for (const AgentId j : problem.graph.neighbours(AgentId{i}))
        if (active[i] || (rule == DualRule::both_ends_of_active_links && active[j.value]))
          phi[i] += 0.5 * penalty * (x[i] - x[j.value]);
  }
  double sum = 0;
  for (const Vector& estimate : x) sum += (estimate - optimum).squaredNorm();
  return sum / (static_cast<double>(n) * optimum.squaredNorm());
}

// Updating phi_i at active agents only, as printed, lets sum_i phi_i drift from zero: the agents
// agree, but on the wrong point. With everyone active the rules are one.
TEST(PrintedDualRule, StallsUnderPartialParticipationWhereOursConverges) {
  const Problem problem = unlike_agents(0);
  const Vector optimum = checked_optimum(problem);
  const auto printed = [&](int rounds, double participation) {
    return error_after(rounds, DualRule::active_agents_only, participation, problem, optimum);
  };
  const auto ours = [&](int rounds, double participation) {
    return error_after(rounds, DualRule::both_ends_of_active_links, participation, problem,
                       optimum);
  };
  EXPECT_LT(printed(600, 1), 1e-12);
  EXPECT_EQ(printed(50, 1), ours(50, 1));

  const double stalled = printed(1500, 0.4);
  EXPECT_GT(stalled, 1e-2);
  EXPECT_NEAR(printed(3000, 0.4), stalled, 1e-6 * stalled) << "more rounds do not help";
  EXPECT_LT(ours(1500, 0.4), 1e-12);

  const Instance instance = problem.instance();
  MethodCase newton = druid_vl(LinkKind::broadcast);
  newton.work = 1;
  Simulator simulator = simulate(newton, instance, {.participation = 0.4});
  for (int round = 1; round <= 1500; ++round) simulator.advance();
  EXPECT_LT(relative_error(simulator.agents(), optimum), 1e-12);
}

}  // namespace
}  // namespace grove::testing_support
