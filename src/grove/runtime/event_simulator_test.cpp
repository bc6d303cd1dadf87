#include "grove/runtime/event_simulator.h"

#include <gtest/gtest.h>

#include "grove/methods/method.h"
#include "grove/network/topology.h"

namespace grove {
namespace {

// Agent i of n holds f_i(x) = (x - c_i)^2 / 2 in each of two coordinates (three samples would only
// repeat them): the minimizer of the sum is the mean of the c_i, whatever the network does.
struct MeanSeekers {
  explicit MeanSeekers(std::uint32_t agents, const char* topology = "ring")
      : graph(*make_graph(topology, agents, 1)) {
    for (std::uint32_t i = 0; i < agents; ++i) {
      const Vector target = Vector::LinSpaced(2, i, 3.0 * i - 1);
      answer = i == 0 ? target : answer + target;
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
      all.push_back(make_agent(DruidOptions{.link = LinkKind::edge, .penalty = 0.5, .prox = 0.1},
                               std::move(context)));
    }
    answer /= agents;
  }

  EventSimulator under(EventOptions options) {
    return EventSimulator(std::move(all), graph, std::vector<int>(graph.agents(), 1),
                          std::move(options));
  }

  Graph graph;
  Vector answer;
  std::vector<std::unique_ptr<Agent>> all;
};

double worst_error(const EventSimulator& simulator, const Vector& answer) {
  double worst = 0;
  for (const auto& agent : simulator.agents())
    worst = std::max(worst, (agent->estimate() - answer).norm() / answer.norm());
  return worst;
}

TEST(EventSimulator, FreeRunningAgentsFindTheMean) {
  MeanSeekers seekers(6);
  auto simulator = seekers.under({});
  simulator.run_until(400);
  EXPECT_LT(worst_error(simulator, seekers.answer), 1e-10);
}

TEST(EventSimulator, FastAgentsWorkMoreOftenAndTheAnswerIsTheSame) {
  MeanSeekers seekers(5);
  auto simulator = seekers.under({.speeds = {1, 1, 0.1, 1, 10}, .latency = 0.01});
  simulator.run_until(2000);
  EXPECT_LT(worst_error(simulator, seekers.answer), 1e-8);
  EXPECT_GT(simulator.activations(AgentId{4}), 2 * simulator.activations(AgentId{2}));
}

TEST(EventSimulator, LossDuplicationReorderingCrashesAndACutHeal) {
  MeanSeekers seekers(8, "grid");
  auto simulator = seekers.under({.latency = 1,
                                  .jitter = 0.9,
                                  .loss_rate = 0.3,
                                  .duplicate_rate = 0.2,
                                  .cuts = {{50, 150, {AgentId{0}, AgentId{1}, AgentId{2}}}},
                                  .crashes = {{AgentId{3}, 80, 30}, {AgentId{5}, 200, 1}}});
  simulator.run_until(120);
  EXPECT_GT(worst_error(simulator, seekers.answer), 1e-3) << "the faults must have been felt";
  simulator.run_until(4000);
  EXPECT_LT(worst_error(simulator, seekers.answer), 1e-8);
}

TEST(EventSimulator, TheSameSeedReplaysExactlyAndAnotherDoesNot) {
  const auto estimate_with = [](std::uint64_t seed) {
    MeanSeekers seekers(5);
    auto simulator = seekers.under({.seed = seed, .jitter = 0.5, .loss_rate = 0.2});
    simulator.run_until(30);
    return Vector(simulator.agents()[2]->estimate());
  };
  EXPECT_EQ(estimate_with(1), estimate_with(1));
  EXPECT_NE(estimate_with(1), estimate_with(2));
}

TEST(EventSimulator, ACrashedAgentReturnsToItsCheckpointAndIsStillHeard) {
  MeanSeekers seekers(2, "path");
  auto simulator =
      seekers.under({.latency = 0.1, .checkpoint_every = 1000, .crashes = {{AgentId{1}, 60, 0.5}}});
  simulator.run_until(59);
  const double before = worst_error(simulator, seekers.answer);
  EXPECT_LT(before, 1e-6);
  simulator.run_until(60.6);  // no checkpoint since the start: agent 1 begins again from zero
  EXPECT_GT(worst_error(simulator, seekers.answer), 1e-3);
  simulator.run_until(200);
  EXPECT_LT(worst_error(simulator, seekers.answer), 1e-10);
}

}  // namespace
}  // namespace grove
