#include "grove/agent/network_depth.h"

#include <array>
#include <bit>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace grove {
namespace {

/// Agents 0, 1, ... on a path, each linked to the next.
std::vector<NetworkDepth> path(std::size_t agents) {
  std::vector<NetworkDepth> result;
  for (std::size_t i = 0; i < agents; ++i) result.emplace_back(i == 0, static_cast<double>(agents));
  return result;
}

void tell_neighbours(std::vector<NetworkDepth>& agents, std::size_t speaker) {
  const double word = agents[speaker].word();
  if (speaker > 0) agents[speaker - 1].hear(word);
  if (speaker + 1 < agents.size()) agents[speaker + 1].hear(word);
}

TEST(NetworkDepth, GrowsToTheLengthOfAPathAndBackToItsBeginning) {
  auto agents = path(6);
  EXPECT_EQ(agents[5].depth(), 0);
  for (std::size_t i = 0; i < 6; ++i) tell_neighbours(agents, i);
  EXPECT_EQ(agents[5].depth(), 5);
  EXPECT_EQ(agents[0].depth(), 1);
  for (std::size_t i = 6; i-- > 0;) tell_neighbours(agents, i);
  for (const NetworkDepth& agent : agents) EXPECT_EQ(agent.depth(), 5);
}

// Agent 2 first hears of agent 0 over agent 1, then gets a direct link: its distance shrinks.
TEST(NetworkDepth, TakesTheShortestWay) {
  auto agents = path(4);
  agents[1].hear(agents[0].word());
  agents[2].hear(agents[1].word());
  agents[2].hear(agents[0].word());
  agents[3].hear(agents[2].word());
  EXPECT_EQ(agents[3].depth(), 2);
}

TEST(NetworkDepth, IsNotChangedByRepeatedOrOldMessages) {
  auto agents = path(3);
  const double before = agents[1].word();
  agents[1].hear(agents[0].word());
  agents[2].hear(agents[1].word());
  const double now = agents[2].word();
  agents[2].hear(agents[1].word());
  agents[2].hear(before);
  EXPECT_EQ(agents[2].word(), now);
}

TEST(NetworkDepth, DoesNotBelieveDistancesLongerThanTheNetwork) {
  auto far = path(100);
  for (std::size_t i = 0; i < 100; ++i) tell_neighbours(far, i);
  NetworkDepth agent(false, 10);
  agent.hear(far[99].word());
  const float nothing = std::numeric_limits<float>::quiet_NaN();
  agent.hear(std::bit_cast<double>(std::array{nothing, nothing}));
  EXPECT_EQ(agent.depth(), 0);
}

}  // namespace
}  // namespace grove
