// What every method must obey, whatever it computes: the optimum is a fixed point; relabelling
// agents permutes the result; inactive agents do not change; cost counters are exact; save/load is
// the identity.

#include <algorithm>
#include <optional>

#include <gtest/gtest.h>

#include "support/network.h"

namespace grove::testing_support {
namespace {

std::string name_of_case(const testing::TestParamInfo<MethodCase>& tested) {
  return tested.param.name;
}

class EveryMethod : public testing::TestWithParam<MethodCase> {};
INSTANTIATE_TEST_SUITE_P(Conformance, EveryMethod, testing::ValuesIn(every_method()), name_of_case);

std::vector<MethodCase> methods_without_batches() {
  auto methods = every_method();
  std::erase_if(methods, [](const MethodCase& method) { return method.draws_batches(); });
  return methods;
}
class EveryMethodWithoutBatches : public testing::TestWithParam<MethodCase> {};
INSTANTIATE_TEST_SUITE_P(Conformance, EveryMethodWithoutBatches,
                         testing::ValuesIn(methods_without_batches()), name_of_case);

// Ring of six with a chord; the l1 weight makes some coefficients of the optimum exactly zero.
Problem lasso_like() {
  Problem problem = make_problem({.features = 6, .l1 = 0.05});
  problem.graph = graph_of(6, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 0}, {1, 4}});
  return problem;
}

/// Noise-free linear targets: the gradient of every sample is zero at the same x, so that
/// sub-sampled steps, too, must stay there.
Problem interpolated() {
  Problem problem = make_problem({.terms = {.loss = SquaredLoss{}}});
  const Vector truth = Vector::LinSpaced(problem.dimension(), -1, 2);
  for (std::size_t i = 0; i < problem.agents(); ++i)
    for (Index j = 0; j < problem.shards[i].count(); ++j)
      problem.shards[i].targets[j] = row_of(problem, i, j).dot(truth);
  return problem;
}

/// The limit is judged by the optimality condition of the whole problem, worked out by the test's
/// own loops: theta where there is one satisfies it exactly on its support, x_i everywhere.
void expect_optimum_is_fixed(const MethodCase& method, const Problem& problem) {
  const Instance instance = problem.instance();
  Simulator simulator = simulate(method, instance);
  for (int round = 0; round < 1500; ++round) simulator.advance();

  const Vector limit = simulator.agents()[0]->estimate();
  EXPECT_LT(squared_distance(simulator.agents(), limit), 1e-26) << "no consensus";
  const Vector* theta = simulator.agents()[0]->regularized_estimate();
  const bool holds_theta = method.keeps_theta() && !problem.regularizer.trivial();
  ASSERT_EQ(theta != nullptr, holds_theta);
  const Vector answer = theta ? *theta : limit;
  if (problem.regularizer.l1 > 0) {
    EXPECT_GT((answer.array() == 0).count(), 0) << "the l1 weight should matter";
  }
  EXPECT_LT((answer - limit).norm(), 1e-12);
  EXPECT_LT(optimality_violation(problem, answer), 1e-12);
  EXPECT_GT(optimality_violation(problem, answer + Vector::Constant(answer.size(), 1e-3)), 1e-6);

  for (int round = 0; round < 50; ++round) simulator.advance();
  EXPECT_LT(squared_distance(simulator.agents(), limit), 1e-26) << "moved away from the optimum";
}

TEST_P(EveryMethod, TheOptimumIsAFixedPoint) {
  if (GetParam().draws_batches())
    expect_optimum_is_fixed(GetParam(), interpolated());
  else
    expect_optimum_is_fixed(GetParam(), lasso_like());
}

// Agent i of the original is agent `to[i]` of the copy: same shard, same links, same holder of r.
// Batches are keyed by the agent's number, so only methods that draw none are comparable. Agents
// that publish link weights count their hops from agent 0, which keeps its number.
TEST_P(EveryMethodWithoutBatches, RelabellingAgentsPermutesTheResult) {
  const std::vector<unsigned> to = GetParam().publishes_weights()
                                       ? std::vector<unsigned>{0, 5, 1, 3, 2, 4}
                                       : std::vector<unsigned>{3, 5, 1, 0, 2, 4};
  const Problem original = lasso_like();
  Problem copy = original;
  std::vector<std::pair<unsigned, unsigned>> edges;
  for (const auto& [i, j] : original.graph.edges()) edges.emplace_back(to[i.value], to[j.value]);
  copy.graph = graph_of(original.agents(), edges);
  for (std::size_t i = 0; i < to.size(); ++i) copy.shards[to[i]] = original.shards[i];

  const Instance instance = original.instance(), relabelled = copy.instance();
  Simulator simulator = simulate(GetParam(), instance, {.holder = AgentId{0}});
  Simulator other = simulate(GetParam(), relabelled, {.holder = AgentId{to[0]}});
  for (int round = 0; round < 40; ++round) {
    simulator.advance();
    other.advance();
  }
  for (std::size_t i = 0; i < to.size(); ++i) {
    const Vector& x = simulator.agents()[i]->estimate();
    EXPECT_GT(x.norm(), 0.1);
    EXPECT_LT((x - other.agents()[to[i]]->estimate()).norm(), 1e-12) << "agent " << i;
  }
}

// On a path, agents two links away from the only active one receive nothing.
TEST_P(EveryMethod, InactiveAgentsThatReceiveNothingDoNotChange) {
  Problem problem = lasso_like();
  problem.graph = graph_of(6, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}});
  const Instance instance = problem.instance();
  Simulator everyone = simulate(GetParam(), instance);
  for (int round = 0; round < 5; ++round) everyone.advance();

  Simulator simulator = simulate(GetParam(), instance, {.participation_of = {0, 0, 0, 0, 0, 1}});
  ASSERT_TRUE(simulator.restore(everyone.round(), everyone.states()));
  const Agents& agents = simulator.agents();
  std::vector<std::string> before;
  for (const auto& agent : agents) before.push_back(state_of(*agent));
  simulator.advance();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(state_of(*agents[i]), before[i]) << "agent " << i;
  EXPECT_NE(state_of(*agents[4]), before[4]) << "received a message";
  EXPECT_NE(state_of(*agents[5]), before[5]) << "was active";
}

TEST_P(EveryMethod, SavingAndLoadingIsTheIdentity) {
  const Problem problem = lasso_like();
  const Instance instance = problem.instance();
  const SimulationOptions all_but_one{.participation_of = {1, 1, 0, 1, 1, 1}};
  Simulator original = simulate(GetParam(), instance, all_but_one);
  for (int round = 0; round < 8; ++round) original.advance();

  Simulator copy = simulate(GetParam(), instance, all_but_one);
  const Agents &originals = original.agents(), &copies = copy.agents();
  for (std::size_t i = 0; i < copies.size(); ++i)
    ASSERT_NE(state_of(*copies[i]), state_of(*originals[i]));
  ASSERT_TRUE(copy.restore(original.round(), original.states()));
  for (std::size_t i = 0; i < copies.size(); ++i) {
    EXPECT_EQ(state_of(*copies[i]), state_of(*originals[i]));
    EXPECT_EQ(copies[i]->cost(), originals[i]->cost());
  }
  for (int round = 0; round < 12; ++round) {
    original.advance();
    copy.advance();
  }
  for (std::size_t i = 0; i < copies.size(); ++i)
    EXPECT_EQ(state_of(*copies[i]), state_of(*originals[i])) << "agent " << i;
}

TEST_P(EveryMethod, AStateThatDoesNotFitIsRefused) {
  const Problem problem = lasso_like();
  const Instance instance = problem.instance();
  Agents agents = make_agents_of(GetParam(), instance);
  const std::string state = state_of(*agents[1]);
  EXPECT_FALSE(restore(*agents[1], state.substr(0, state.size() - 1))) << "truncated";
  EXPECT_FALSE(restore(*agents[0], state)) << "another number of neighbours";
}

/// One lock-step round as the comment of Agent defines it, written out as the oracle for the
/// simulator. `activations`: by agent; none if it is inactive.
void play_by_definition(Agents& agents, const Graph& graph,
                        const std::vector<std::optional<Activation>>& activations) {
  Workspace workspace;
  for (std::size_t i = 0; i < agents.size(); ++i)
    if (activations[i]) agents[i]->activate(*activations[i], workspace);
  for (std::uint32_t i = 0; i < agents.size(); ++i)
    for (const AgentId j : graph.neighbours(AgentId{i}))
      if (activations[j.value])
        agents[i]->receive(graph.slot_of(AgentId{i}, j),
                           agents[j.value]->message_to(graph.slot_of(j, AgentId{i})));
  for (auto& agent : agents) agent->end_round();
}

TEST_P(EveryMethod, TheSimulatorPlaysRoundsAsDefined) {
  const Problem problem = lasso_like();
  const Instance instance = problem.instance();
  const double participation = GetParam().druid() ? 0.6 : 1;
  Simulator simulator = simulate(GetParam(), instance, {.participation = participation});
  Agents agents = make_agents_of(GetParam(), instance);
  const Schedule schedule(1, std::vector<double>(6, participation),
                          std::vector<int>(6, GetParam().work));
  for (Round round = 1; round <= 12; ++round) {
    simulator.advance();
    std::vector<std::optional<Activation>> activations;
    for (std::uint32_t i = 0; i < agents.size(); ++i)
      activations.push_back(schedule.activation(AgentId{i}, round));
    play_by_definition(agents, instance.graph, activations);
  }
  for (std::size_t i = 0; i < agents.size(); ++i)
    EXPECT_EQ(state_of(*simulator.agents()[i]), state_of(*agents[i])) << "agent " << i;
}

/// Two rounds of the middle agent of a path of three: 4 samples, d = 2, two neighbours. Every
/// activation sends one vector of 16 bytes to each neighbour.
///
/// Newton steps on all samples evaluate the gradient where they end, to see whether the model has
/// decreased, and the next step starts with it, also in the next activation: one gradient more than
/// there are steps. The exact solver takes one step on the squared loss and sees by the gradient
/// where it ends that it is done.
///
/// In the default method the first activation computes a Hessian and minimizes f_i with a ridge: a
/// Newton step, gradients before and after it, and a second step that finds nothing left. It
/// publishes its link weight of 3 single-precision numbers; with broadcast coupling the message has
/// x_i beside it and fills two vectors, with edge coupling there is no vector before the weight of
/// the link is known. The second activation takes one step with the old Hessian and finds that it
/// passes the secant test; the gradient before it is new because the last step moved at the level
/// of rounding. Every message has two hop counts of 4 bytes, and with edge coupling two weight ids
/// of 12 bytes.
Cost cost_by_hand(const std::string& name) {
  constexpr std::uint64_t hops = 8, ids = 24, vector = 16, weight = 12;
  if (name == "Default")
    return {.broadcasts = 2,
            .vectors_sent = 2 * (2 + 1),
            .bytes_sent = 2 * ((hops + vector + weight) + (hops + vector)),
            .gradient_samples = (2 + 2) * 4,
            .hessian_samples = 4,
            .solves = 2 + 1};
  if (name == "DefaultOverEdges")
    return {.broadcasts = 2,
            .vectors_sent = 2 * (1 + 1),
            .bytes_sent = 2 * ((hops + ids + weight) + (hops + ids + vector)),
            .gradient_samples = (2 + 2) * 4,
            .hessian_samples = 4,
            .solves = 2 + 1};
  if (name == "TreeNewton") {
    // The middle agent is the root. It sends its own link-state entry, of four words and two names;
    // then, to each neighbour, the other one's entry with one name, and the first wave, whose point
    // is one vector. Header and wave have 24 bytes each.
    constexpr std::uint64_t header = 24, own_entry = 6 * 4, other_entry = 5 * 4, wave = 24;
    return {.broadcasts = 2,
            .vectors_sent = 2,
            .bytes_sent = 2 * ((header + own_entry) + (header + other_entry + wave + vector))};
  }
  Cost cost{.broadcasts = 2, .vectors_sent = 4, .bytes_sent = 64};
  const auto compute = [&](std::uint64_t gradients, std::uint64_t hessians, std::uint64_t solves) {
    cost.gradient_samples = gradients;
    cost.hessian_samples = hessians;
    cost.solves = solves;
  };
  if (name.starts_with("DruidVlMinibatch"))
    compute(2 * 3 * 2, 2 * 3 * 3, 2 * 3);  // rounds x steps x batch
  else if (name.starts_with("DruidVl"))
    compute((1 + 2 * 2) * 4, 2 * 2 * 4, 2 * 2);  // rounds x steps x shard
  else if (name.starts_with("DruidNewton"))
    compute((1 + 2) * 4, 2 * 4, 2);
  else if (name.starts_with("DruidGd"))
    compute(2 * 4, 0, 0);
  else if (name.starts_with("DruidBfgs"))
    compute(2 * 4, 0, 2);
  else if (name.starts_with("ExactAdmm"))
    compute((1 + 2) * 4, 2 * 4, 2);
  else if (name == "Nids")
    compute((1 + 2) * 4, 0, 0);  // its first round also needs the gradient at the start
  else
    compute(2 * 4, 0, 0);
  return cost;
}

TEST_P(EveryMethod, CostCountersAreExact) {
  MethodCase method = GetParam();
  Loss loss = SquaredLoss{};
  if (method.draws_batches()) {
    std::get<NewtonSteps>(std::get<DruidOptions>(method.options).solver).sampling =
        MiniBatches{.gradient = 2, .hessian = 3};
  } else if (method.druid() && std::holds_alternative<NewtonSteps>(method.druid()->solver)) {
    // No step may be at the level of rounding: whether it changes x, and needs a gradient, is
    // chance.
    loss = LogisticLoss{};
    method.work = std::min(method.work, 2);
  }
  Problem problem = make_problem({.agents = 3,
                                  .samples = 12,
                                  .features = 2,
                                  .graph = "path",
                                  .terms = {.loss = loss, .l2 = 0.1}});
  // Equal shards have equal Hessians, so that no agent publishes a second weight.
  for (Samples& shard : problem.shards) shard = problem.shards[0];
  const Instance instance = problem.instance();
  Simulator simulator = simulate(method, instance);
  EXPECT_EQ(simulator.agents()[1]->cost(), Cost{});
  for (int round = 0; round < 2; ++round) simulator.advance();
  const Cost expected = cost_by_hand(method.name), counted = simulator.agents()[1]->cost();
  EXPECT_EQ(counted.broadcasts, expected.broadcasts);
  EXPECT_EQ(counted.vectors_sent, expected.vectors_sent);
  EXPECT_EQ(counted.bytes_sent, expected.bytes_sent);
  EXPECT_EQ(counted.gradient_samples, expected.gradient_samples);
  EXPECT_EQ(counted.hessian_samples, expected.hessian_samples);
  EXPECT_EQ(counted.solves, expected.solves);
  EXPECT_EQ(counted.damped_steps, 0u);
}

}  // namespace
}  // namespace grove::testing_support
