#include "grove/runtime/event_simulator.h"

#include <gtest/gtest.h>

#include "grove/methods/method.h"
#include "grove/network/topology.h"

namespace grove {
namespace {

// Agent i of n has f_i(x) = (x - c_i)^2 / 2 in each of two coordinates: the minimizer of the sum is
// the mean of the c_i, whatever the network does.
struct MeanProblem {
  explicit MeanProblem(std::uint32_t agents, const char* topology = "ring")
      : graph(*make_graph(topology, agents, 1)) {
    for (std::uint32_t i = 0; i < agents; ++i) {
      const Vector target = Vector::LinSpaced(2, i, 3.0 * i - 1);
      optimum = i == 0 ? target : optimum + target;
      // Two unit rows, so that the mean over samples is half of |x - c|^2 / 2: scale 2 undoes it.
      Samples samples{DenseRows(DenseRows::Identity(2, 2)), target};
      AgentContext context{.id = AgentId{i},
                           .objective = make_shard_objective(std::move(samples),
                                                             {.loss = SquaredLoss{}, .scale = 2}),
                           .regularizer = {.regularized = 2},
                           .network_size = agents,
                           .start = Vector::Zero(2)};
      for (AgentId neighbour : graph.neighbours(AgentId{i}))
        context.neighbours.push_back({neighbour});
      all.push_back(make_agent(
          DruidOptions{.coupling = {.kind = LinkKind::edge, .weighting = FixedPenalty{0.5}},
                       .prox = 0.1},
          std::move(context)));
    }
    optimum /= agents;
  }

  EventSimulator simulate(EventOptions options) {
    return EventSimulator(std::move(all), graph, std::vector<int>(graph.agents(), 1),
                          std::move(options));
  }

  Graph graph;
  Vector optimum;
  std::vector<std::unique_ptr<Agent>> all;
};

double worst_error(const EventSimulator& simulator, const Vector& optimum) {
  double worst = 0;
  for (const auto& agent : simulator.agents())
    worst = std::max(worst, (agent->estimate() - optimum).norm() / optimum.norm());
  return worst;
}

TEST(EventSimulator, FreeRunningAgentsFindTheMean) {
  MeanProblem problem(6);
  auto simulator = problem.simulate({});
  simulator.run_until(400);
  EXPECT_LT(worst_error(simulator, problem.optimum), 1e-10);
}

TEST(EventSimulator, FastAgentsAreActiveMoreOftenAndTheOptimumIsTheSame) {
  MeanProblem problem(5);
  auto simulator = problem.simulate({.speeds = {1, 1, 0.1, 1, 10}, .latency = 0.01});
  simulator.run_until(2000);
  EXPECT_LT(worst_error(simulator, problem.optimum), 1e-8);
  EXPECT_GT(simulator.activations(AgentId{4}), 2 * simulator.activations(AgentId{2}));
}

TEST(EventSimulator, AgentsConvergeAfterLossDuplicationReorderingCrashesAndACut) {
  MeanProblem problem(8, "grid");
  auto simulator = problem.simulate({.latency = 1,
                                     .jitter = 0.9,
                                     .loss_rate = 0.3,
                                     .duplicate_rate = 0.2,
                                     .cuts = {{50, 150, {AgentId{0}, AgentId{1}, AgentId{2}}}},
                                     .crashes = {{AgentId{3}, 80, 30}, {AgentId{5}, 200, 1}}});
  simulator.run_until(120);
  EXPECT_GT(worst_error(simulator, problem.optimum), 1e-3) << "the faults must have had an effect";
  simulator.run_until(4000);
  EXPECT_LT(worst_error(simulator, problem.optimum), 1e-8);
}

TEST(EventSimulator, TheSameSeedReplaysExactlyAndAnotherDoesNot) {
  const auto estimate_with = [](std::uint64_t seed) {
    MeanProblem problem(5);
    auto simulator = problem.simulate({.seed = seed, .jitter = 0.5, .loss_rate = 0.2});
    simulator.run_until(30);
    return Vector(simulator.agents()[2]->estimate());
  };
  EXPECT_EQ(estimate_with(1), estimate_with(1));
  EXPECT_NE(estimate_with(1), estimate_with(2));
}

TEST(EventSimulator, ACrashedAgentReturnsToItsCheckpointAndItsMessagesStillCount) {
  MeanProblem problem(2, "path");
  auto simulator = problem.simulate(
      {.latency = 0.1, .checkpoint_every = 1000, .crashes = {{AgentId{1}, 60, 0.5}}});
  simulator.run_until(59);
  const double before = worst_error(simulator, problem.optimum);
  EXPECT_LT(before, 1e-6);
  simulator.run_until(60.6);  // no checkpoint since the start: agent 1 restarts from zero
  EXPECT_GT(worst_error(simulator, problem.optimum), 1e-3);
  simulator.run_until(200);
  EXPECT_LT(worst_error(simulator, problem.optimum), 1e-10);
}

}  // namespace
}  // namespace grove
