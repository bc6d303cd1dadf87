// Transport between two endpoints: which messages arrive, and in which precision.
#include <cstring>

#include <gtest/gtest.h>

#include "grove/coupling/link_weight.h"
#include "grove/peer/clock.h"
#include "grove/peer/session.h"
#include "grove/peer/test_endpoints.h"

namespace grove::peer {
namespace {

Message message_of(std::uint64_t sequence, const std::vector<double>& values) {
  return {.sender = {}, .sequence = sequence, .vector = values};
}

/// Two connected endpoints; a dials b.
struct Pair {
  explicit Pair(LinkTableOptions options_a = {}, LinkTableOptions options_b = {})
      : a("a", std::move(options_a)), b("b", std::move(options_b)) {
    b.link_table.add_link("a");
    a.dial("b", b.address());
    EXPECT_TRUE(eventually([&] { return a.connected_to("b") && b.connected_to("a"); }))
        << a.log->text() << b.log->text();
  }
  /// Sends an iterate from a to b. Returns the vector that b receives.
  std::vector<double> transferred(const std::vector<double>& values) {
    a.link_table.send("b", message_of(1, values));
    EXPECT_TRUE(b.link_table.wait_for_all(monotonic_seconds() + 120));
    return b.received()["a"].values;
  }
  Endpoint a, b;
};

/// A message with version 3 of the link weight 2 I, in two dimensions.
StoredMessage weighted_message(std::uint64_t sequence, std::int64_t receiver_version,
                               bool with_update) {
  const std::vector<double> vector(receiver_version < 0 ? 0 : 2, 1.5);
  LinkWeight weight;
  if (with_update) weight = LinkWeight({LinkWeightShape::full}, 2 * Matrix::Identity(2, 2));
  return StoredMessage({.sender = {},
                        .sequence = sequence,
                        .hops = HopCounts{.from_root = 0, .depth = 1},
                        .weights = WeightPair{.sender = {3}, .receiver = {receiver_version}},
                        .vector = vector,
                        .weight_update = weight.numbers()});
}

template <class Number>
bool same_bits(const std::vector<Number>& a, std::span<const Number> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), b.size_bytes()) == 0;
}

TEST(Transport, TransfersLinkWeightsAndKeepsOneThatANewerIterateReplaces) {
  const LinkShape shape(test_dimension, LinkWeightForm{LinkWeightShape::full});
  Pair pair({.shape = shape}, {.shape = shape});
  const auto whole = weighted_message(5, 1, true), plain = weighted_message(6, 1, false);
  EXPECT_TRUE(pair.b.link_table.send("a", weighted_message(3, -1, true).view()));
  const auto received = [&] { return pair.b.link("a").counts.iterates_received; };
  EXPECT_TRUE(pair.a.link_table.send("b", whole.view()));
  ASSERT_TRUE(eventually([&] { return received() == 1; })) << pair.b.log->text();
  EXPECT_TRUE(pair.a.link_table.send("b", plain.view()));
  ASSERT_TRUE(eventually([&] { return received() == 2; })) << pair.b.log->text();
  const auto newest = pair.b.received()["a"];
  EXPECT_EQ(newest.sequence, 6u);
  EXPECT_EQ(newest.hops, whole.view().hops);
  EXPECT_EQ(newest.weights, whole.view().weights);
  EXPECT_TRUE(same_bits(newest.values, whole.view().vector));
  EXPECT_TRUE(same_bits(newest.weight_update, whole.view().weight_update));
  pair.a.link_table.add_link("nobody");
  EXPECT_FALSE(pair.a.link_table.send("nobody", weighted_message(7, 1, false).view()));
}

TEST(Transport, TransfersIteratesAndHeartbeatsBothWays) {
  Pair pair;
  const std::vector<double> from_a{1, 2}, from_b{3, 4};
  pair.a.link_table.send("b", message_of(7, from_a));
  pair.b.link_table.send("a", message_of(9, from_b));
  v1::Member member;
  member.set_name("a");
  v1::Heartbeat heartbeat;
  heartbeat.add_members()->set_member(member.SerializeAsString());
  pair.a.link_table.publish(heartbeat);
  ASSERT_TRUE(pair.a.link_table.wait_for_all(monotonic_seconds() + 120));
  ASSERT_TRUE(pair.b.link_table.wait_for_all(monotonic_seconds() + 120));
  EXPECT_EQ(pair.a.received()["b"], (Endpoint::Received{9, from_b}));
  EXPECT_EQ(pair.b.received()["a"], (Endpoint::Received{7, from_a}));
  EXPECT_TRUE(pair.b.received().empty());  // each message is passed once
  EXPECT_TRUE(eventually([&] { return pair.b.link_table.take_heartbeats().size() == 1; }));
}

TEST(Transport, RoundsToFloat32OnlyIfBothEndsAgree) {
  const std::vector<double> exact{1.0 / 3, 1e-3}, rounded{1.0f / 3, 1e-3f};
  EXPECT_EQ(Pair({.float32 = true}, {.float32 = true}).transferred(exact), rounded);
  EXPECT_EQ(Pair({.float32 = true}, {}).transferred(exact), exact);
  EXPECT_EQ(Pair({}, {.float32 = true}).transferred(exact), exact);
  EXPECT_EQ(Pair().transferred(exact), exact);
}

TEST(Transport, ReconnectsWhenTheOtherEndReturns) {
  Endpoint a("a");
  std::string address;
  {
    Endpoint b("b");
    b.link_table.add_link("a");
    address = b.address();
    a.dial("b", address);
    ASSERT_TRUE(eventually([&] { return a.connected_to("b"); })) << a.log->text();
  }
  ASSERT_TRUE(eventually([&] { return !a.connected_to("b"); }));
  Endpoint again("b", {}, address);
  again.link_table.add_link("a");
  EXPECT_TRUE(eventually([&] { return a.connected_to("b"); })) << a.log->text();
  EXPECT_GE(a.link("b").counts.sessions, 2u);
}

TEST(Transport, OldIteratesAreDroppedAndOnlyTheNewestIsKept) {
  Endpoint b("b");
  b.link_table.add_link("a");
  Caller a(b, identity_of("a"));
  ASSERT_TRUE(a.enters_as("a")) << b.log->text();
  for (std::uint64_t sequence = 1; sequence <= 50; ++sequence)
    a.send(sequence, {double(sequence), 0});
  a.send(3, {-1, -1});
  a.send(50, {-1, -1});
  ASSERT_TRUE(eventually([&] { return b.rejected("a", RejectReason::stale_sequence) == 2; }));
  EXPECT_EQ(b.received()["a"], (Endpoint::Received{50, {50, 0}}));
  EXPECT_TRUE(b.connected_to("a"));
}

TEST(Transport, ANeighbourThatStopsReadingBlocksNobodyAndReceivesTheNewestWhenItReadsAgain) {
  Endpoint b("b");
  b.link_table.add_link("a");
  Caller a(b, identity_of("a"));
  ASSERT_TRUE(a.enters_as("a")) << b.log->text();
  // More messages than all buffers on the way hold. The loop would hang if send() waited for a.
  constexpr std::uint64_t last = 200'000;
  const std::vector<double> values{1, 2};
  for (std::uint64_t sequence = 1; sequence <= last; ++sequence)
    b.link_table.send("a", message_of(sequence, values));
  v1::Envelope envelope;
  std::uint64_t read = 0;
  do {
    ASSERT_TRUE(a.reads(envelope));
    ++read;
  } while (envelope.iterate().sequence() < last);
  EXPECT_LT(read, last / 2);  // no queue grew
  EXPECT_EQ(b.link("a").counts.iterates_sent, read);
}

TEST(Throttle, LimitsAFloodToFiftyThousandMessagesASecond) {
  double now = 100;
  Throttle throttle(now);
  for (int k = 0; k < 500'000; ++k)
    now += throttle.pause_after_message(now);  // as fast as possible
  EXPECT_NEAR(now, 110, 1e-6);
}

TEST(Throttle, NeverPausesForANeighbourBelowTheLimit) {
  double now = 100;
  Throttle throttle(now);
  for (int k = 0; k < 100'000; ++k) {
    now += 1.0 / 45'000;
    ASSERT_EQ(throttle.pause_after_message(now), 0) << k;
  }
}

TEST(Transport, AFloodingNeighbourFillsNoMemoryAndDoesNotBlockOthers) {
  Endpoint b("b");
  b.link_table.add_link("a");
  b.link_table.add_link("c");
  Caller a(b, identity_of("a")), c(b, identity_of("c"));
  ASSERT_TRUE(a.enters_as("a") && c.enters_as("c")) << b.log->text();
  std::thread flood([&] {
    for (std::uint64_t sequence = 1; a.send(sequence, {1, 1}); ++sequence) {
    }
  });
  ASSERT_TRUE(eventually([&] { return b.link("a").counts.iterates_received > 5000; }));
  c.send(1, {5, 6});
  EXPECT_TRUE(eventually([&] { return b.received().contains("c"); }));
  EXPECT_LE(b.received().size(), 1u);  // only the newest message of a is stored
  b.link_table.close();                // ends the stream and the flood
  flood.join();
}

}  // namespace
}  // namespace grove::peer
