#include "grove/theory/stability.h"

#include <gtest/gtest.h>

namespace grove {
namespace {

Graph path_of_three() {
  return *Graph::from_edges(3, {{AgentId{0}, AgentId{1}}, {AgentId{1}, AgentId{2}}}, "test");
}

// Path of three: L_s has eigenvalues 0, 1, 3, so without a regularizer (mu/2) L_s needs
// eps = 1.5 mu, although the local condition asks mu deg = 2 mu at the middle agent.
TEST(LinearizedStability, OnAPathOfThreeTheBoundIsThreeHalvesOfThePenalty) {
  LinearizedSetting setting{.penalty = 2, .holder = std::nullopt, .prox = {3, 3, 3}};
  const auto enough = linearized_stability(path_of_three(), setting);
  EXPECT_NEAR(enough.needed_prox, 3.0, 1e-12);
  EXPECT_TRUE(enough.guaranteed);
  EXPECT_TRUE(enough.offending.empty());

  setting.prox = {2.9, 2.9, 2.9};
  const auto short_of_it = linearized_stability(path_of_three(), setting);
  EXPECT_FALSE(short_of_it.guaranteed);
  ASSERT_EQ(short_of_it.offending.size(), 1u);
  EXPECT_EQ(short_of_it.offending[0], AgentId{1});
}

// The smallest counter-example is agent q alone: one agent without neighbours needs eps >=
// mu_theta.
TEST(LinearizedStability, TheHolderOfTheRegularizerAlsoNeedsItsPenalty) {
  const Graph alone = *Graph::from_edges(1, {}, "test");
  const auto result = linearized_stability(
      alone, {.penalty = 1, .theta_penalty = 5, .holder = AgentId{0}, .prox = {4.9}});
  EXPECT_FALSE(result.guaranteed);
  EXPECT_NEAR(result.needed_prox, 5, 1e-12);
  EXPECT_EQ(result.offending, std::vector<AgentId>{AgentId{0}});
}

}  // namespace
}  // namespace grove
