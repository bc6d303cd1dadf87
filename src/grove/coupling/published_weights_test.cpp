#include <cmath>
#include <random>
#include <utility>

#include <gtest/gtest.h>

#include "grove/agent/cost.h"
#include "grove/coupling/test_link.h"

namespace grove {
namespace {

using namespace coupling_test;

class PublishedWeightsOfBothKinds : public testing::TestWithParam<LinkKind> {};
INSTANTIATE_TEST_SUITE_P(Coupling, PublishedWeightsOfBothKinds,
                         testing::Values(LinkKind::broadcast, LinkKind::edge));

// C_i = 1 and C_j = 3 make P = 2; z is 0. With x_i = 1 and x_j = 3 both ends move z by 0.85 of the
// way to their x: to 3.4. The dual of i is 0.85 P (1 - 3) = -3.4, and the gradient -3.4 +
// P (1 - 3.4) = -8.2; that of j is 3.4 + P (3 - 3.4) = 2.6.
TEST_P(PublishedWeightsOfBothKinds, WeightALinkByTheMeanOfTheTwoPublishedWeights) {
  End i(with_published_weights(GetParam())), j(with_published_weights(GetParam()));
  i.publish(1, 1);
  j.publish(3, 1);
  exchange(i, j);
  EXPECT_EQ(i.gradient(), 0) << "establishing a link has no gradient";
  EXPECT_TRUE(i.established());
  EXPECT_EQ(i.weight(), 2);
  i.x[0] = 1;
  j.x[0] = 3;
  exchange(i, j);
  EXPECT_NEAR(i.gradient(), -8.2, 1e-12);
  EXPECT_NEAR(j.gradient(), 2.6, 1e-12);
}

// As above, but nobody may be pulled by more than 5: the gradient of -8.2 of i becomes -5. A ridge
// of at most 0.5 may come on top at j, towards zero: its gradient of 2.6 stays.
TEST(EdgeCoupling, LimitsTheGradientThatAMessageCanCause) {
  End i(with_published_weights(LinkKind::edge)), j(with_published_weights(LinkKind::edge));
  i.coupling->limit_gradients({.length = 5});
  j.coupling->limit_gradients({.length = 1.2, .ridge = 0.5});
  i.publish(1, 1);
  j.publish(3, 1);
  exchange(i, j);
  i.x[0] = 1;
  j.x[0] = 3;
  exchange(i, j);
  EXPECT_NEAR(i.gradient(), -5, 1e-12);
  EXPECT_EQ(i.coupling->gradients_limited(), 1u);
  EXPECT_NEAR(j.gradient(), 2.6, 1e-12);
  EXPECT_EQ(j.coupling->gradients_limited(), 0u);
}

// A process that lost its state uses version 1 again, for another weight.
TEST(EdgeCoupling, DistinguishesTwoWeightsOfOneVersion) {
  End i(with_published_weights(LinkKind::edge)), j(with_published_weights(LinkKind::edge)),
      restarted(with_published_weights(LinkKind::edge));
  i.publish(4, 1);
  j.publish(2, 1);
  for (int k = 0; k < 3; ++k) exchange(i, j);
  EXPECT_EQ(j.weight(), 3);
  restarted.publish(8, 1);
  restarted.sequence = 100;  // above all that j has received
  for (int k = 0; k < 5; ++k) exchange(restarted, j);
  EXPECT_EQ(restarted.weight(), 5);
  EXPECT_EQ(j.weight(), 5);
  EXPECT_EQ(j.coupling->disagreement(j.x), 0) << "both ends use the same P";
}

// d = 5: a full weight is 15 numbers in single precision, 60 bytes, which two vectors of 40 bytes
// hold.
TEST_P(PublishedWeightsOfBothKinds, SendVectorsAndWeightsThatAreCountedInVectors) {
  const Vector x = Vector::Ones(5);
  const auto i = make_coupling(with_published_weights(GetParam()), x, 1),
             j = make_coupling(with_published_weights(GetParam()), x, 1);
  const bool edge = GetParam() == LinkKind::edge;
  const auto message_of = [&](Coupling& end, std::uint64_t sequence) {
    end.prepare_messages(x);
    Message message{.sequence = sequence};
    end.fill_message(0, x, message);
    return message;
  };
  const auto cost_of = [](const Message& message) {
    Cost cost;
    cost.count_message(message, 5);
    return cost;
  };
  for (const auto& end : {i.get(), j.get()})
    end->publish(LinkWeight(full, 2 * Matrix::Identity(5, 5)), 1, x);
  const std::size_t ids = edge ? 2 * Message::encoded_weight_id_bytes : 0;
  const Message first = message_of(*i, 1);
  EXPECT_EQ(cost_of(first).vectors_sent, edge ? 2u : 1u + 2u)
      << "edge coupling sends no vector before the weights of both ends are known";
  EXPECT_EQ(cost_of(first).bytes_sent, (edge ? 60u : 100u) + ids);
  i->receive(0, message_of(*j, 1), x);
  i->end_round(x, true);
  const Message second = message_of(*i, 2);
  EXPECT_EQ(cost_of(second).vectors_sent, 1u);
  EXPECT_EQ(cost_of(second).bytes_sent, 40u + ids);
}

TEST_P(PublishedWeightsOfBothKinds, EstablishALinkOnceBothEndsHavePublished) {
  End i(with_published_weights(GetParam())), j(with_published_weights(GetParam()));
  i.publish(1, 1);
  exchange(i, j);
  EXPECT_FALSE(i.established());
  EXPECT_FALSE(j.established());
  i.x[0] = 5;
  EXPECT_EQ(i.gradient(), 0);
  j.publish(1, 2);
  exchange(i, j);
  exchange(i, j);
  EXPECT_TRUE(i.established());
  EXPECT_TRUE(j.established());
}

/// The two ends of an established link after a round in which both have moved.
struct Pair {
  explicit Pair(LinkKind kind) : i(with_published_weights(kind)), j(with_published_weights(kind)) {
    i.publish(1, 1);
    j.publish(3, 1);
    exchange(i, j);
    i.x[0] = 1;
    j.x[0] = 3;
    exchange(i, j);
  }
  End i, j;
};

// From z = 3.4 and the duals -3.4 and 3.4 of the first test of published weights. i moves to 2
// while j is inactive at 3: the dual becomes -3.4 + 0.85 P (2 - 3.4) = -5.78, and z becomes
// 3.4 + 0.85 (2 - 3.4) = 2.21.
TEST_P(PublishedWeightsOfBothKinds, MoveAnEstablishedLinkByTheShareOfTheActiveEnd) {
  Pair pair(GetParam());
  pair.i.x[0] = 2;
  activate_only(pair.i, pair.j);
  EXPECT_NEAR(pair.i.gradient(), -5.78 + 2 * (2 - 2.21), 1e-12);
  EXPECT_NEAR(pair.j.gradient(), 5.78 + 2 * (3 - 2.21), 1e-12);
}

// Where it minimizes with the same gradient it stays, however long the other end is inactive:
// agents that are active at unequal rates do not diverge. The effect of its messages converges.
TEST_P(PublishedWeightsOfBothKinds, LeaveTheGradientAsItIsOnAnEstablishedLinkWithOneActiveEnd) {
  Pair pair(GetParam());
  const double expected = pair.i.gradient();
  double before = pair.j.gradient(), change = 0;
  for (int k = 0; k < 30; ++k) {
    activate_only(pair.i, pair.j);
    EXPECT_NEAR(pair.i.gradient(), expected, 1e-12);
    change = std::abs(pair.j.gradient() - std::exchange(before, pair.j.gradient()));
  }
  EXPECT_LT(change, 1e-12);
}

// They are one method: what broadcast coupling knows of z is in the messages of edge coupling.
TEST(PublishedWeights, BothKindsHaveTheSameGradientsWhoeverIsActive) {
  Pair broadcast(LinkKind::broadcast), edge(LinkKind::edge);
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> coordinate(-1, 1);
  for (int k = 0; k < 100; ++k) {
    const auto active = random() % 3;  // i, j or both
    const double x_i = coordinate(random), x_j = coordinate(random);
    for (Pair* pair : {&broadcast, &edge}) {
      if (active != 1) pair->i.x[0] = x_i;
      if (active != 0) pair->j.x[0] = x_j;
      play_round(pair->i, active != 1, pair->j, active != 0);
    }
    ASSERT_NEAR(broadcast.i.gradient(), edge.i.gradient(), 1e-10) << k;
    ASSERT_NEAR(broadcast.j.gradient(), edge.j.gradient(), 1e-10) << k;
  }
}

// The round in which i publishes a new weight still has P = 2: from z = 3.4 and the dual -3.4 both
// ends move to 3.4 + 0.85 (1 + 3 - 6.8) = 1.02 and -3.4 + 0.85 P (1 - 3) = -6.8. These stay when P
// becomes 26.5.
TEST(BroadcastCoupling, KeepsZAndDualsWhenOneEndPublishesANewWeight) {
  Pair pair(LinkKind::broadcast);
  pair.i.publish(50, 2);
  exchange(pair.i, pair.j);
  EXPECT_EQ(pair.i.weight(), 26.5);
  EXPECT_EQ(pair.j.weight(), 26.5);
  EXPECT_NEAR(pair.i.gradient(), -6.8 + 26.5 * (1 - 1.02), 1e-12);
  EXPECT_NEAR(pair.j.gradient(), 6.8 + 26.5 * (3 - 1.02), 1e-12);
}

TEST(EdgeCoupling, ANewWeightDoesNotMakeTheGradientJumpAtEitherEnd) {
  Pair pair(LinkKind::edge);
  const double at_i = pair.i.gradient(), at_j = pair.j.gradient();
  pair.i.publish(50, 2);
  EXPECT_NEAR(pair.i.gradient(), at_i, 1e-12);
  // j adopts it from a message whose vector it must ignore: one without its own current version.
  pair.j.publish(4, 2);
  pair.j.receive(pair.i.send());
  EXPECT_NEAR(pair.j.gradient(), at_j, 1e-12);
  EXPECT_EQ(pair.j.weight(), 27);
}

TEST(EdgeCoupling, MessagesComputedWithAnotherPairOfWeightsChangeNothing) {
  Pair pair(LinkKind::edge);
  const StoredMessage old_message = pair.j.send();
  pair.i.publish(50, 2);
  const double before = pair.i.gradient();
  pair.i.receive(old_message);
  EXPECT_EQ(pair.i.gradient(), before);
}

TEST(EdgeCoupling, ALostWeightIsSentAgainAndThenNoMore) {
  Pair pair(LinkKind::edge);
  EXPECT_FALSE(pair.i.sends_weight());
  pair.i.publish(50, 2);
  EXPECT_TRUE(pair.i.sends_weight());  // and is lost
  int sent = 0;
  for (int round = 0; round < 6; ++round) {
    const StoredMessage from_i = pair.i.send(), from_j = pair.j.send();
    sent += !from_i.view().weight_update.empty();
    pair.j.receive(from_i);
    pair.i.receive(from_j);
  }
  EXPECT_EQ(sent, 1);
  EXPECT_EQ(pair.i.weight(), pair.j.weight());
}

// The neighbour knows version 2 of an agent that was rolled back to version 1: a third is needed,
// because the agent may use version 2 again for another weight.
TEST(EdgeCoupling, AnAgentThatWasRolledBackLearnsThatItMustPublishAgain) {
  Pair pair(LinkKind::edge);
  ByteWriter writer;
  pair.i.coupling->save(writer);
  pair.i.publish(50, 2);
  exchange(pair.i, pair.j);
  ByteReader reader(writer.bytes());
  pair.i.coupling->load(reader);
  ASSERT_TRUE(reader.finished());
  EXPECT_FALSE(pair.i.coupling->rolled_back());
  exchange(pair.i, pair.j);
  EXPECT_TRUE(pair.i.coupling->rolled_back());
  pair.i.publish(7, 9);
  exchange(pair.i, pair.j);
  exchange(pair.i, pair.j);
  EXPECT_FALSE(pair.i.coupling->rolled_back());
  EXPECT_EQ(pair.i.weight(), pair.j.weight());
  EXPECT_EQ(pair.i.weight(), 5);
}

TEST(EdgeCoupling, SendsItsWeightAgainToANeighbourThatHasLostIt) {
  Pair pair(LinkKind::edge);
  exchange(pair.i, pair.j);
  EXPECT_FALSE(pair.i.sends_weight());
  End restarted(with_published_weights(LinkKind::edge));  // j without its state
  restarted.publish(3, 7);
  restarted.sequence = 99;
  pair.i.receive(restarted.send());
  EXPECT_TRUE(pair.i.sends_weight());
}

TEST(EdgeCoupling, SendsAWeightAgainAtOnceAfterAMessageThatWasNotSent) {
  Pair pair(LinkKind::edge);
  EXPECT_FALSE(pair.i.sends_weight());
  pair.i.publish(50, 2);
  for (int k = 0; k < 10; ++k) {
    EXPECT_TRUE(pair.i.sends_weight());
    pair.i.coupling->not_sent(0);
  }
}

// With P = 2, u_ij = P x_i = 2 and the message 2 P x_j - u_ji = 12 - 6 = 6: they differ by
// (6 - 2) / P.
TEST(EdgeCoupling, DisagreementIsInUnitsOfX) {
  End i(with_published_weights(LinkKind::edge)), j(with_published_weights(LinkKind::edge));
  EXPECT_TRUE(std::isinf(i.coupling->disagreement(i.x)));
  i.x[0] = 1;
  j.x[0] = 3;
  i.publish(1, 1);
  j.publish(3, 1);
  exchange(i, j);
  exchange(i, j);
  EXPECT_DOUBLE_EQ(i.coupling->disagreement(i.x), 2);
  EXPECT_DOUBLE_EQ(j.coupling->disagreement(j.x), 2);
  i.publish(5, 2);
  EXPECT_TRUE(std::isinf(i.coupling->disagreement(i.x))) << "the ends do not yet use the same P";
}

TEST_P(PublishedWeightsOfBothKinds, ARemovedLinkHasNoGradientAndANewOneIsNotEstablished) {
  Pair pair(GetParam());
  pair.i.coupling->remove_link(0);
  EXPECT_EQ(pair.i.gradient(), 0);
  EXPECT_EQ(pair.i.coupling->weights().established(), 0u);
  EXPECT_EQ(pair.i.coupling->disagreement(pair.i.x), 0);
  pair.i.coupling->add_link(pair.i.x);
  EXPECT_EQ(pair.i.gradient(), 0);
  EXPECT_FALSE(pair.i.established());
}

template <class Numbers>
auto values(const Numbers& span) {
  return std::vector(span.begin(), span.end());
}

TEST_P(PublishedWeightsOfBothKinds, ContinueExactlyFromASavedStateWithPublishedWeights) {
  Pair pair(GetParam());
  ByteWriter writer;
  pair.i.coupling->save(writer);
  End loaded(with_published_weights(GetParam()));
  ByteReader reader(writer.bytes());
  loaded.coupling->load(reader);
  EXPECT_TRUE(reader.finished());
  loaded.x = pair.i.x;
  EXPECT_EQ(loaded.gradient(), pair.i.gradient());
  const StoredMessage expected = pair.i.send(), found = loaded.send();
  EXPECT_EQ(found.view().weights, expected.view().weights);
  EXPECT_EQ(values(found.view().vector), values(expected.view().vector));
  EXPECT_EQ(values(found.view().weight_update), values(expected.view().weight_update));
}

}  // namespace
}  // namespace grove
