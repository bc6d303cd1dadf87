// Recovery from lost state: complete peers without transport, in an in-process network.
#include <bit>

#include <gtest/gtest.h>

#include "grove/peer/test_network.h"

namespace grove::peer {
namespace {

/// A path 0 - 1 - 2. The samples of peer 0 weigh much more than the others', so the others publish
/// a new link weight as soon as they have received that of peer 0.
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
    EXPECT_TRUE(network.converges());
    EXPECT_LT(network.error(), 1e-6);
  }
  static bool has_weights() { return std::string(GetParam()) != "0.003"; }
  /// Version of the link weight of peer k, as in its messages.
  std::int64_t version(std::size_t k) {
    return std::bit_cast<std::int64_t>(network.agent(k).message_to(0).payload[1]);
  }

  std::vector<PeerProblem> problems = row_problems(GetParam());
  InProcessNetwork network{problems, {{0, 1}, {1, 2}}};
};
INSTANTIATE_TEST_SUITE_P(Penalty, Recovery,
                         testing::Values("0.003", "scalar", "diagonal", "low-rank:5", "full"));

TEST_P(Recovery, ADroppedMemberReturnsFromACheckpointOlderThanItsMessages) {
  network.round();
  const Checkpoint old = network.agent(1).checkpoint();
  const std::int64_t saved = has_weights() ? version(1) : 0;
  network.rounds(40);
  if (has_weights()) {
    ASSERT_GT(version(1), saved) << "no newer weight was published, so this tests nothing";
  }
  network.forget(1);
  network.rounds(5);  // the others continue without links
  network.start(1, old);
  network.connect_all();
  expect_optimum();
  EXPECT_EQ(network.violations(), 0u);
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
    EXPECT_GT(network.link_table(lost).newest_received_from_self(),
              0u);  // from the first hello
    network.rounds(20);
  }
  expect_optimum();
  EXPECT_EQ(network.violations(), 0u);
}

TEST_P(Recovery, EveryStateIsLostButOne) {
  network.rounds(20);
  const Checkpoint kept = network.agent(1).checkpoint();
  for (const std::size_t k : {0u, 1u, 2u}) network.kill(k);
  network.start(0);
  network.start(1, kept);
  network.start(2);
  expect_optimum();
  EXPECT_EQ(network.violations(), 0u);
}

// A peer that cannot write checkpoints restarts from the same one several times, and uses the same
// sequence numbers again. Its neighbours must distinguish them from the earlier ones.
TEST_P(Recovery, CrashesAgainAndAgainOverOneCheckpoint) {
  network.round();
  const Checkpoint only = network.agent(1).checkpoint();
  for (int crash = 0; crash < 4; ++crash) {
    network.kill(1);
    network.start(1, only);
    const std::size_t first = crash % 2 == 0 ? 0 : 2;
    network.connect(std::min<std::size_t>(1, first), std::max<std::size_t>(1, first));
    network.rounds(5 + 10 * (crash % 3));  // more rounds than in the epoch before, or fewer
    network.connect_all();
    network.rounds(3);
  }
  expect_optimum();
  EXPECT_EQ(network.violations(), 0u);
}

// Finite values far from any iterate: the largest that validation accepts, and a smaller one.
TEST_P(Recovery, SurvivesHugeValuesOfANeighbour) {
  for (const double huge : {1e10, 1e100}) {
    network.rounds(10);
    network.activate(0);
    EXPECT_TRUE(network.deliver(0, 1, [&](v1::Envelope& envelope) {
      for (double& value : *envelope.mutable_iterate()->mutable_vector()) value = huge;
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

TEST_P(Recovery, RejectsACheckpointWithHugeValues) {
  network.rounds(10);
  const Checkpoint good = network.agent(1).checkpoint();
  const auto restores = [&](double value) {
    Checkpoint corrupted = good;
    // The state begins with the length of x and its values.
    std::memcpy(corrupted.agent.data() + sizeof(std::uint64_t), &value, sizeof value);
    return PeerAgent(problems[1], "peer-1", 1,
                     PeerStart{Vector::Zero(problems[1].objective->dimension()), false})
        .restore(corrupted);
  };
  EXPECT_TRUE(restores(1e10));
  EXPECT_FALSE(restores(1e101));
  EXPECT_FALSE(restores(std::nan("")));
}

}  // namespace
}  // namespace grove::peer
