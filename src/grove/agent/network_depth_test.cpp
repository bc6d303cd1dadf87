#include "grove/agent/network_depth.h"

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

void send_to_neighbours(std::vector<NetworkDepth>& agents, std::size_t sender) {
  const HopCounts counts = agents[sender].counts();
  if (sender > 0) agents[sender - 1].receive(counts);
  if (sender + 1 < agents.size()) agents[sender + 1].receive(counts);
}

TEST(NetworkDepth, GrowsToTheLengthOfAPathAndBackToItsBeginning) {
  auto agents = path(6);
  EXPECT_EQ(agents[5].depth(), 0);
  for (std::size_t i = 0; i < 6; ++i) send_to_neighbours(agents, i);
  EXPECT_EQ(agents[5].depth(), 5);
  EXPECT_EQ(agents[0].depth(), 1);
  for (std::size_t i = 6; i-- > 0;) send_to_neighbours(agents, i);
  for (const NetworkDepth& agent : agents) EXPECT_EQ(agent.depth(), 5);
}

// Agent 2 first learns of agent 0 through agent 1, then gets a direct link: its distance shrinks.
TEST(NetworkDepth, TakesTheShortestWay) {
  auto agents = path(4);
  agents[1].receive(agents[0].counts());
  agents[2].receive(agents[1].counts());
  agents[2].receive(agents[0].counts());
  agents[3].receive(agents[2].counts());
  EXPECT_EQ(agents[3].depth(), 2);
}

TEST(NetworkDepth, IsNotChangedByRepeatedOrOldMessages) {
  auto agents = path(3);
  const HopCounts before = agents[1].counts();
  agents[1].receive(agents[0].counts());
  agents[2].receive(agents[1].counts());
  const HopCounts now = agents[2].counts();
  agents[2].receive(agents[1].counts());
  agents[2].receive(before);
  EXPECT_EQ(agents[2].counts(), now);
}

TEST(NetworkDepth, IgnoresDistancesLongerThanTheNetwork) {
  auto far = path(100);
  for (std::size_t i = 0; i < 100; ++i) send_to_neighbours(far, i);
  NetworkDepth agent(false, 10);
  agent.receive(far[99].counts());
  const float nothing = std::numeric_limits<float>::quiet_NaN();
  agent.receive({.from_root = nothing, .depth = nothing});
  EXPECT_EQ(agent.depth(), 0);
}

}  // namespace
}  // namespace grove
