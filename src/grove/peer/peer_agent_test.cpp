// Peers' agents by hand, without a network: the same rounds every time.
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
      peers_[k]->hold_regularizer(k == 0, 3);
    }
  }
  static std::string name(std::size_t peer) { return "peer-" + std::to_string(peer); }
  PeerAgent& peer(std::size_t k) { return *peers_[k]; }
  std::unique_ptr<PeerAgent> fresh(std::size_t k) const {
    const Index dimension = problems_[k].objective->dimension();
    return std::make_unique<PeerAgent>(problems_[k], name(k), 1,
                                       PeerStart{Vector::Zero(dimension), false});
  }
  /// As after SIGKILL: the peer is gone and another process has its checkpoint.
  void restart(std::size_t k, const Checkpoint& checkpoint) {
    peers_[k] = fresh(k);
    ASSERT_TRUE(peers_[k]->restore(checkpoint));
    peers_[k]->hold_regularizer(k == 0, 3);
    peers_[k]->activate(0, 5);  // alone, under a number that an earlier life may have used
  }
  void round() {
    for (std::size_t k = 0; k < 3; ++k) peers_[k]->activate(heard_of(k), 5);
    for (std::size_t k = 0; k < 3; ++k)
      for (std::size_t slot = 0; slot < peers_[k]->neighbours().size(); ++slot) {
        const std::size_t other = peers_[k]->neighbours()[slot].back() - '0';
        peers_[other]->receive(name(k), peers_[k]->message_to(slot));
      }
  }
  int rounds_to_rest() {
    int rounds = 0;
    while (rounds < 5000 && !at_rest()) round(), ++rounds;
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
  /// What the hellos of its neighbours say.
  std::uint64_t heard_of(std::size_t k) const {
    std::uint64_t newest = 0;
    for (const auto& peer : peers_)
      for (std::size_t slot = 0; slot < peer->neighbours().size(); ++slot)
        if (peer->neighbours()[slot] == name(k)) newest = std::max(newest, peer->heard()[slot]);
    return newest;
  }
  bool at_rest() const {
    return std::ranges::all_of(peers_, [](const auto& peer) { return peer->residual() < 1e-9; });
  }

  std::vector<PeerProblem> problems_;
  std::vector<std::unique_ptr<PeerAgent>> peers_;
};

class PeerAgentWith : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Penalty, PeerAgentWith,
                         testing::Values("0.003", "scalar", "diagonal", "low-rank:5", "full"));

TEST_P(PeerAgentWith, ComesToRestAtTheOptimum) {
  Row row(GetParam());
  EXPECT_LT(row.rounds_to_rest(), 5000);
  EXPECT_LT(row.error(), 1e-6);
}

TEST_P(PeerAgentWith, FallsBackToAnOldCheckpointAndStillReachesTheOptimum) {
  Row row(GetParam());
  std::vector<Checkpoint> checkpoints{row.peer(1).checkpoint()};
  for (int k = 0; k < 4; ++k) {
    row.round();
    checkpoints.push_back(row.peer(1).checkpoint());
  }
  for (const Checkpoint& checkpoint : checkpoints) {  // from before the first word to just now
    for (int k = 0; k < 7; ++k) row.round();
    row.restart(1, checkpoint);
  }
  EXPECT_LT(row.rounds_to_rest(), 5000);
  EXPECT_LT(row.error(), 1e-6);
}

TEST_P(PeerAgentWith, FollowsItsNeighboursComingAndGoing) {
  Row row(GetParam());
  for (int k = 0; k < 10; ++k) row.round();
  row.peer(1).drop(Row::name(0));
  row.peer(0).drop(Row::name(1));
  row.peer(1).hold_regularizer(true, 2);
  EXPECT_LT(row.rounds_to_rest(), 5000);
  EXPECT_LT(row.error({1, 2}), 1e-6);
  row.peer(1).hold_regularizer(false, 3);
  row.peer(0).add(Row::name(1));
  row.peer(1).add(Row::name(0));
  row.round();  // nobody has heard the newcomer in this life of the link
  EXPECT_LT(row.rounds_to_rest(), 5000);
  EXPECT_LT(row.error(), 1e-6);
}

TEST(PeerAgentWithCurvature, NeedsFewerActivationsThanWithANumber) {
  EXPECT_LT(2 * Row("full").rounds_to_rest(), Row("0.003").rounds_to_rest());
}

// A checkpoint is checked by its sum; this is for one whose sum is right and whose content is not.
TEST_P(PeerAgentWith, RefusesAStateThatIsNotItsOwn) {
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

TEST_P(PeerAgentWith, RefusesNumbersAndNamesThatCannotBe) {
  Row row(GetParam());
  row.round();
  const auto refused = [&](const auto& spoil) {
    Checkpoint checkpoint = row.peer(1).checkpoint();
    spoil(checkpoint);
    return !row.fresh(1)->restore(checkpoint);
  };
  EXPECT_FALSE(refused([](Checkpoint&) {}));
  EXPECT_TRUE(refused([](Checkpoint& c) { c.sequence = largest_sequence; }));
  EXPECT_TRUE(refused([](Checkpoint& c) { c.sequence = ~std::uint64_t{0}; }));
  EXPECT_TRUE(refused([](Checkpoint& c) { c.heard[1] = largest_sequence + 1; }));
  EXPECT_TRUE(refused([](Checkpoint& c) { c.neighbours[1] = c.neighbours[0]; }));
  EXPECT_TRUE(refused([](Checkpoint& c) { c.neighbours[0] = Row::name(1); }));  // itself
  EXPECT_TRUE(refused([](Checkpoint& c) { c.neighbours[0] = "../x"; }));
}

// The body of the libFuzzer target, driven here with random edits.
RC_GTEST_PROP(PeerState, IsRefusedOrFitToGoOnWithWhateverStandsInIt, (const std::string& bytes)) {
  fuzz_restore(bytes);
}

}  // namespace
}  // namespace grove::peer
