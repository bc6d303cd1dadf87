// How far one member can push the others, with and without an agreed bound on features.
#include "grove/peer/influence.h"

#include <gtest/gtest.h>

#include "grove/peer/test_network.h"

namespace grove::peer {
namespace {

constexpr double bound_of_features = 1;  ///< of the synthetic features
const std::vector<InProcessNetwork::Edge> ring{{0, 1}, {1, 2}, {2, 3}, {0, 3}};

std::vector<PeerProblem> honest_problems(const std::string& penalty, double bound) {
  std::vector<PeerProblem> problems;
  for (std::uint64_t k = 0; k < 4; ++k)
    problems.push_back(problem_of({.penalty = penalty, .seed = k + 1, .feature_bound = bound}));
  return problems;
}

/// Peer 3 runs a program that was changed: its data count 1000 times, and it claims to have agreed.
std::vector<PeerProblem> problems_with_attacker(const std::string& penalty, double bound) {
  auto problems = honest_problems(penalty, bound);
  const Schema claimed = problems[3].schema;
  problems[3] = problem_of({.penalty = penalty, .seed = 4, .scale = 1000});
  problems[3].schema = claimed;
  return problems;
}

void start_all(InProcessNetwork& network) {
  for (std::size_t k = 0; k < 4; ++k) network.start(k);
  network.connect_all();
}

std::uint64_t rejected_at(InProcessNetwork& network, std::size_t k, RejectReason reason) {
  std::uint64_t count = 0;
  for (const LinkStatus& link : network.link_table(k).statuses())
    count += link.counts.rejected[static_cast<std::size_t>(reason)];
  return count;
}

// Three features of at most 2 and an intercept: |a|^2 <= 13. Logistic loss: slope 1, second
// derivative 1/4. At most twice the largest Hessian, of scale 3 with l2 = 0.1.
TEST(InfluenceBound, FollowsFromFeaturesScaleAndLoss) {
  const auto bound =
      *influence_bound({.feature_bound = 2, .max_scale = 3},
                       {.loss = LogisticLoss{}, .features = 3, .intercept = true, .l2 = 0.1});
  EXPECT_DOUBLE_EQ(bound->mean_diagonal, 2 * 3 * (0.25 * 13 / 4 + 0.1));
  EXPECT_DOUBLE_EQ(bound->member.length, 3 * std::sqrt(13));
  EXPECT_DOUBLE_EQ(bound->member.ridge, 3 * 0.1);
  EXPECT_DOUBLE_EQ(bound->link(4).length, 2 * 3 * bound->member.length);
  EXPECT_FALSE(*influence_bound({}, {.loss = LogisticLoss{}, .features = 3}));
  const auto refused = influence_bound({.feature_bound = 2}, {.loss = SquaredLoss{}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "feature-bound");
}

TEST(InfluenceBound, IsCheckedOnTheDataOfThePeerItself) {
  const Samples samples{DenseRows{{1, -2}, {0.5, 4}}, Vector::Zero(2)};
  const std::optional<ColumnNames> columns = ColumnNames{.features = {"age", "dose"}};
  EXPECT_TRUE(check_influence({.feature_bound = 4}, samples, columns, 1));
  EXPECT_TRUE(check_influence({}, samples, columns, 1000));
  const Status entry = check_influence({.feature_bound = 3}, samples, columns, 1);
  ASSERT_FALSE(entry);
  EXPECT_EQ(entry.error().text(), "feature-bound: row 2, column dose is 4; expected at most 3");
  const Status scale =
      check_influence({.feature_bound = 4, .max_scale = 2}, samples, columns, 1000);
  ASSERT_FALSE(scale);
  EXPECT_EQ(scale.error().where, "scale");
}

class InfluenceWith : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Penalty, InfluenceWith,
                         testing::Values("0.003", "scalar", "diagonal", "low-rank:5", "full"));

TEST_P(InfluenceWith, TheBoundRefusesNoHonestPeer) {
  const auto problems = honest_problems(GetParam(), bound_of_features);
  InProcessNetwork network(problems, ring);
  start_all(network);
  EXPECT_TRUE(network.converges()) << network.state();
  EXPECT_LT(network.error(), 1e-6);
  EXPECT_EQ(network.violations(), 0u);
}

// The weight of a peer whose data count 1000 times is refused, so that its link is never used.
TEST(Influence, OfAPeerWithAScaleOf1000IsRefused) {
  const auto problems = problems_with_attacker("full", bound_of_features);
  InProcessNetwork network(problems, ring);
  start_all(network);
  for (int k = 0; k < 200; ++k) network.connect_all(), network.round();
  EXPECT_GT(rejected_at(network, 0, RejectReason::beyond_bound), 0u);
  EXPECT_GT(rejected_at(network, 2, RejectReason::beyond_bound), 0u);
  const Vector honest = optimum_over(problems, {0, 1, 2});
  for (std::size_t k = 0; k < 3; ++k)
    EXPECT_LT((network.agent(k).estimate() - honest).norm(), 1e-6 * honest.norm());

  const auto without = problems_with_attacker("full", 0);
  InProcessNetwork moved(without, ring);
  start_all(moved);
  EXPECT_TRUE(moved.converges());
  EXPECT_GT((moved.agent(0).estimate() - honest).norm(), 0.1 * honest.norm());
}

// A neighbour that sends huge numbers pulls no harder than the bound, twice a member's gradient.
// The ridge holds x against that and the data of the peer itself: l2 |x| <= 3 gradients.
TEST(Influence, OfHugeMessagesIsLimited) {
  const auto length_after_attack = [](const PeerProblem& problem) {
    PeerAgent peer(problem, "peer-0", 1, {Vector::Zero(problem.objective->dimension())});
    peer.add("peer-1");
    peer.set_regularizer_holder(true, 2);
    const std::vector<double> huge(static_cast<std::size_t>(problem.objective->dimension()), 1e9);
    bool believed = true;
    for (std::uint64_t k = 1; k < 100; ++k) {
      peer.activate(0, 5);
      believed &= peer.receive("peer-1", {.sender = {}, .sequence = k, .vector = huge});
    }
    EXPECT_EQ(believed, !problem.influence);
    return peer.estimate().norm();
  };
  const PeerProblem open = problem_of({.penalty = "0.003"});
  const PeerProblem bounded = problem_of({.penalty = "0.003", .feature_bound = bound_of_features});
  EXPECT_GT(length_after_attack(open), 1e9);
  EXPECT_LT(length_after_attack(bounded), 3 * bounded.influence->member.length / 1e-3);
}

}  // namespace
}  // namespace grove::peer
