// Agents of peers without a network. Every run is the same.
#include "grove/peer/peer_agent.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "grove/peer/restore_fuzz.h"
#include "grove/peer/test_network.h"

namespace grove::peer {
namespace {

/// Three peers in a row, 0 - 1 - 2, each with data of its own.
class Row {
 public:
  explicit Row(const std::string& penalty) {
    for (std::size_t k = 0; k < 3; ++k)
      problems_.push_back(problem_of({.penalty = penalty, .seed = k + 1}));
    for (std::size_t k = 0; k < 3; ++k) {
      peers_.push_back(fresh(k));
      for (const std::size_t other : neighbours(k)) peers_[k]->add(name(other));
      peers_[k]->set_regularizer_holder(k == 0, 3);
    }
  }
  static std::string name(std::size_t peer) { return "peer-" + std::to_string(peer); }
  PeerAgent& peer(std::size_t k) { return *peers_[k]; }
  std::unique_ptr<PeerAgent> fresh(std::size_t k) const {
    const Index dimension = problems_[k].objective->dimension();
    return std::make_unique<PeerAgent>(problems_[k], name(k), 1,
                                       PeerStart{Vector::Zero(dimension), false});
  }
  /// Replaces the peer by a new process with this checkpoint, as after SIGKILL.
  void restart(std::size_t k, const Checkpoint& checkpoint) {
    peers_[k] = fresh(k);
    ASSERT_TRUE(peers_[k]->restore(checkpoint));
    peers_[k]->set_regularizer_holder(k == 0, 3);
    peers_[k]->activate(
        0, 5);  // without messages, with a sequence that an earlier epoch may have used
  }
  void round() {
    for (std::size_t k = 0; k < 3; ++k) peers_[k]->activate(received_from(k), 5);
    for (std::size_t k = 0; k < 3; ++k)
      for (std::size_t slot = 0; slot < peers_[k]->neighbours().size(); ++slot) {
        const std::size_t other = peers_[k]->neighbours()[slot].back() - '0';
        peers_[other]->receive(name(k), peers_[k]->message_to(slot));
      }
  }
  int rounds_to_converge() {
    int rounds = 0;
    while (rounds < 5000 && !converged()) round(), ++rounds;
    return rounds;
  }
  double error(std::vector<std::size_t> members = {0, 1, 2}) const {
    const Vector optimum = optimum_over(problems_, members);
    double worst = 0;
    for (const std::size_t k : members)
      worst = std::max(worst, (peers_[k]->answer() - optimum).norm() / optimum.norm());
    return worst;
  }

 private:
  static std::vector<std::size_t> neighbours(std::size_t k) {
    return k == 1 ? std::vector<std::size_t>{0, 2} : std::vector<std::size_t>{1};
  }
  /// The newest sequence of peer k in the hellos of its neighbours.
  std::uint64_t received_from(std::size_t k) const {
    std::uint64_t newest = 0;
    for (const auto& peer : peers_)
      for (std::size_t slot = 0; slot < peer->neighbours().size(); ++slot)
        if (peer->neighbours()[slot] == name(k))
          newest = std::max(newest, peer->last_received()[slot]);
    return newest;
  }
  bool converged() const {
    return std::ranges::all_of(peers_, [](const auto& peer) { return peer->residual() < 1e-9; });
  }

  std::vector<PeerProblem> problems_;
  std::vector<std::unique_ptr<PeerAgent>> peers_;
};

class PeerAgentWith : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Penalty, PeerAgentWith,
                         testing::Values("0.003", "scalar", "diagonal", "low-rank:5", "full"));

TEST_P(PeerAgentWith, ConvergesToTheOptimum) {
  Row row(GetParam());
  EXPECT_LT(row.rounds_to_converge(), 5000);
  EXPECT_LT(row.error(), 1e-6);
}

TEST_P(PeerAgentWith, ReachesTheOptimumAfterRollbacksToOldCheckpoints) {
  Row row(GetParam());
  std::vector<Checkpoint> checkpoints{row.peer(1).checkpoint()};
  for (int k = 0; k < 4; ++k) {
    row.round();
    checkpoints.push_back(row.peer(1).checkpoint());
  }
  for (const Checkpoint& checkpoint : checkpoints) {  // from before the first message to the newest
    for (int k = 0; k < 7; ++k) row.round();
    row.restart(1, checkpoint);
  }
  EXPECT_LT(row.rounds_to_converge(), 5000);
  EXPECT_LT(row.error(), 1e-6);
}

TEST_P(PeerAgentWith, FollowsItsNeighboursComingAndGoing) {
  Row row(GetParam());
  for (int k = 0; k < 10; ++k) row.round();
  row.peer(1).drop(Row::name(0));
  row.peer(0).drop(Row::name(1));
  row.peer(1).set_regularizer_holder(true, 2);
  EXPECT_LT(row.rounds_to_converge(), 5000);
  EXPECT_LT(row.error({1, 2}), 1e-6);
  row.peer(1).set_regularizer_holder(false, 3);
  row.peer(0).add(Row::name(1));
  row.peer(1).add(Row::name(0));
  row.round();  // the new links have no message yet
  EXPECT_LT(row.rounds_to_converge(), 5000);
  EXPECT_LT(row.error(), 1e-6);
}

TEST(PeerAgentWithFullWeights, NeedsFewerActivationsThanWithAScalarPenalty) {
  EXPECT_LT(2 * Row("full").rounds_to_converge(), Row("0.003").rounds_to_converge());
}

// The checksum detects accidental damage. This test damages the contents behind a correct checksum.
TEST_P(PeerAgentWith, RejectsADamagedState) {
  Row row(GetParam());
  for (int k = 0; k < 5; ++k) row.round();
  const Checkpoint good = row.peer(1).checkpoint();
  for (std::size_t place = 0; place < good.agent.size(); place += 1 + good.agent.size() / 500) {
    Checkpoint damaged = good;
    damaged.agent[place] = static_cast<char>(damaged.agent[place] ^ 0xff);
    const auto peer = row.fresh(1);
    EXPECT_TRUE(!peer->restore(damaged) || peer->estimate().allFinite());
    Checkpoint cut = good;
    cut.agent.resize(place);
    EXPECT_FALSE(row.fresh(1)->restore(cut)) << place;
  }
}

TEST_P(PeerAgentWith, RejectsImpossibleSequencesAndNames) {
  Row row(GetParam());
  row.round();
  const auto rejected = [&](const auto& corrupt) {
    Checkpoint checkpoint = row.peer(1).checkpoint();
    corrupt(checkpoint);
    return !row.fresh(1)->restore(checkpoint);
  };
  EXPECT_FALSE(rejected([](Checkpoint&) {}));
  EXPECT_TRUE(rejected([](Checkpoint& c) { c.sequence = max_sequence; }));
  EXPECT_TRUE(rejected([](Checkpoint& c) { c.sequence = ~std::uint64_t{0}; }));
  EXPECT_TRUE(rejected([](Checkpoint& c) { c.last_received[1] = max_sequence + 1; }));
  EXPECT_TRUE(rejected([](Checkpoint& c) { c.neighbours[1] = c.neighbours[0]; }));
  EXPECT_TRUE(rejected([](Checkpoint& c) { c.neighbours[0] = Row::name(1); }));  // this peer
  EXPECT_TRUE(rejected([](Checkpoint& c) { c.neighbours[0] = "../x"; }));
}

// The body of the libFuzzer target, with random edits.
RC_GTEST_PROP(PeerState, IsRejectedOrUsableWhateverItsContents, (const std::string& bytes)) {
  fuzz_restore(bytes);
}

}  // namespace
}  // namespace grove::peer
