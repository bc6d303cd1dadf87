// What peers lose and get over: whole peers but for the transport, joined by hand.
#include <bit>

#include <gtest/gtest.h>

#include "grove/peer/test_network.h"

namespace grove::peer {
namespace {

/// A row 0 - 1 - 2. Peer 0 weighs its samples much more than the others: they tell a new curvature
/// as soon as they have heard of its.
std::vector<PeerProblem> row_problems(const std::string& penalty) {
  std::vector<PeerProblem> problems;
  for (std::uint64_t k = 0; k < 3; ++k)
    problems.push_back(
        problem_of({.penalty = penalty, .seed = k + 1, .scale = k == 0 ? 30.0 : 1.0}));
  return problems;
}

class Recovery : public testing::TestWithParam<const char*> {
 protected:
  Recovery() {
    for (const std::size_t k : {0u, 1u, 2u}) network.start(k);
    network.connect_all();
  }
  void expect_optimum() {
    EXPECT_TRUE(network.comes_to_rest());
    EXPECT_LT(network.error(), 1e-6);
  }
  static bool curved() { return std::string(GetParam()) != "0.003"; }
  /// Of its own curvature, as peer k tells it.
  std::int64_t version(std::size_t k) {
    return std::bit_cast<std::int64_t>(network.agent(k).message_to(0).payload[1]);
  }

  std::vector<PeerProblem> problems = row_problems(GetParam());
  HandNetwork network{problems, {{0, 1}, {1, 2}}};
};
INSTANTIATE_TEST_SUITE_P(Penalty, Recovery,
                         testing::Values("0.003", "scalar", "diagonal", "low-rank:5", "full"));

TEST_P(Recovery, ADroppedMemberReturnsFromACheckpointOlderThanWhatItTold) {
  network.round();
  const Checkpoint old = network.agent(1).checkpoint();
  const std::int64_t saved = curved() ? version(1) : 0;
  network.rounds(40);
  if (curved()) {
    ASSERT_GT(version(1), saved) << "no newer curvature was told: nothing is tested";
  }
  network.forget(1);
  network.rounds(5);  // the others go on, each alone
  network.start(1, old);
  network.connect_all();
  expect_optimum();
  EXPECT_EQ(network.breaches(), 0u);
}

TEST_P(Recovery, TwoRestartAtOnceAndOneHasLostItsState) {
  network.rounds(20);
  for (const std::size_t lost : {1u, 0u}) {
    const Checkpoint kept = network.agent(1 - lost).checkpoint();
    network.kill(0);
    network.kill(1);
    network.start(1 - lost, kept);
    network.start(lost);
    network.connect_all();
    EXPECT_GT(network.hub(lost).newest_heard_of_self(), 0u);  // told by the very first hello
    network.rounds(20);
  }
  expect_optimum();
  EXPECT_EQ(network.breaches(), 0u);
}

TEST_P(Recovery, EveryStateIsLostButOne) {
  network.rounds(20);
  const Checkpoint kept = network.agent(1).checkpoint();
  for (const std::size_t k : {0u, 1u, 2u}) network.kill(k);
  network.start(0);
  network.start(1, kept);
  network.start(2);
  expect_optimum();
  EXPECT_EQ(network.breaches(), 0u);
}

// Where no checkpoint can be written a peer comes back from the same one again and again, and uses
// the same numbers again. Neighbours that it meets later must not take them for the earlier ones.
TEST_P(Recovery, CrashesAgainAndAgainOverOneCheckpoint) {
  network.round();
  const Checkpoint only = network.agent(1).checkpoint();
  for (int crash = 0; crash < 4; ++crash) {
    network.kill(1);
    network.start(1, only);
    const std::size_t first = crash % 2 == 0 ? 0 : 2;
    network.connect(std::min<std::size_t>(1, first), std::max<std::size_t>(1, first));
    network.rounds(5 + 10 * (crash % 3));  // further than the life before, or less far
    network.connect_all();
    network.rounds(3);
  }
  expect_optimum();
  EXPECT_EQ(network.breaches(), 0u);
}

// Finite, and far from any sane iterate: the largest that the wire lets through, and a milder one.
TEST_P(Recovery, HugeValuesOfANeighbourPass) {
  for (const double huge : {1e10, 1e100}) {
    network.rounds(10);
    network.activate(0);
    EXPECT_TRUE(network.carry(0, 1, [&](v1::Envelope& envelope) {
      for (double& value : *envelope.mutable_iterate()->mutable_values()) value = huge;
    }));
    for (int k = 0; k < 5; ++k) {
      network.connect_all();
      network.round();
      for (const std::size_t peer : {0u, 1u, 2u})
        EXPECT_FALSE(std::isnan(network.agent(peer).residual())) << "peer " << peer;
    }
    expect_optimum();
  }
}

TEST_P(Recovery, ACheckpointWithHugeValuesIsRefused) {
  network.rounds(10);
  const Checkpoint good = network.agent(1).checkpoint();
  const auto restores = [&](double value) {
    Checkpoint spoiled = good;
    // The state begins with x: its length, then its numbers.
    std::memcpy(spoiled.agent.data() + sizeof(std::uint64_t), &value, sizeof value);
    return PeerAgent(problems[1], "peer-1", 1,
                     PeerStart{Vector::Zero(problems[1].objective->dimension()), false})
        .restore(spoiled);
  };
  EXPECT_TRUE(restores(1e10));
  EXPECT_FALSE(restores(1e101));
  EXPECT_FALSE(restores(std::nan("")));
}

}  // namespace
}  // namespace grove::peer
