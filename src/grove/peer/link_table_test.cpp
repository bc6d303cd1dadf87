// The link table without a network: admission, storage and delivery of messages.
#include "grove/peer/link_table.h"

#include <limits>

#include <gtest/gtest.h>

#include "grove/coupling/link_weight.h"
#include "grove/peer/clock.h"
#include "grove/peer/test_hello.h"
#include "grove/peer/test_log.h"

namespace grove::peer {
namespace {

constexpr Index dimension = 2;
const LinkShape full_shape(dimension, LinkWeightForm{LinkWeightShape::full});

/// The message of an agent with full link weights. It has the weight `size` I if size > 0.
StoredMessage weighted_message(std::uint64_t sequence, std::int64_t version, double size,
                               double value = 1.5) {
  const std::vector<double> vector(dimension, value);
  LinkWeight weight;
  if (size > 0)
    weight = LinkWeight({LinkWeightShape::full}, size * Matrix::Identity(dimension, dimension));
  return StoredMessage({.sender = {},
                        .sequence = sequence,
                        .hops = HopCounts{.from_root = 0, .depth = 1},
                        .weights = WeightPair{.sender = {version}, .receiver = {0}},
                        .vector = vector,
                        .weight_update = weight.numbers()});
}

Message plain_message(std::uint64_t sequence, const std::vector<double>& vector) {
  return {.sender = {}, .sequence = sequence, .vector = vector};
}

/// The link table of b, with the neighbours a and c. The tests deliver their messages like a
/// stream.
class LinkTableTest : public ::testing::Test {
 protected:
  explicit LinkTableTest(LinkShape shape = dimension)
      : link_table(
            {.network = "test", .self = "b", .schema = {{"problem", "test"}}, .shape = shape},
            logger_to(log)),
        shape_(shape) {
    link_table.add_link("a");
    link_table.add_link("c");
  }
  /// The session, or 0 if the hello was rejected.
  std::uint64_t enters(const std::string& name, std::uint64_t last_received = 0) {
    std::uint64_t session = 0;
    link_table.admit(hello_from(name, last_received), session);
    return session;
  }
  bool delivers(const std::string& name, std::uint64_t session, const Message& message) {
    v1::Envelope envelope;
    *envelope.mutable_iterate() = encode(message, shape_, false);
    return link_table.deliver(name, session, envelope);
  }
  bool delivers(const std::string& name, std::uint64_t session, std::uint64_t sequence,
                const std::vector<double>& vector) {
    return delivers(name, session, plain_message(sequence, vector));
  }
  std::uint64_t rejected(const std::string& name, RejectReason reason) const {
    std::uint64_t count = 0;
    for (const LinkStatus& link : link_table.statuses())
      if (link.name == name) count = link.counts.rejected[static_cast<std::size_t>(reason)];
    return count;
  }
  /// The newest sequence of each neighbour that sent a message since the last call.
  std::map<std::string, std::uint64_t> received() {
    std::map<std::string, std::uint64_t> result;
    link_table.take_iterates(
        [&](const std::string& name, const Message& message) { result[name] = message.sequence; });
    return result;
  }

  std::shared_ptr<TestLog> log = std::make_shared<TestLog>();
  LinkTable link_table;

 private:
  LinkShape shape_;
};

class LinkTableWithWeights : public LinkTableTest {
 protected:
  LinkTableWithWeights() : LinkTableTest(full_shape) {}
  bool delivers_weight(std::uint64_t session, std::uint64_t sequence, std::int64_t version) {
    return delivers("a", session, weighted_message(sequence, version, 2).view());
  }
};

// A neighbour that was rolled back to an older checkpoint has an older weight.
TEST_F(LinkTableWithWeights, TakesAnOlderWeightInANewSessionOnly) {
  const std::uint64_t first = enters("a");
  EXPECT_TRUE(delivers_weight(first, 9, 9));
  EXPECT_TRUE(delivers_weight(first, 10, 4));  // rejected, but the stream stays open
  EXPECT_EQ(rejected("a", RejectReason::stale_link_weight), 1u);
  link_table.end_session("a", first);
  const std::uint64_t second = enters("a");
  EXPECT_TRUE(delivers_weight(second, 11, 4));
  EXPECT_EQ(rejected("a", RejectReason::stale_link_weight), 1u);
  EXPECT_EQ(received()["a"], 11u);
}

TEST_F(LinkTableTest, RejectsAHelloWithSequenceNumbersOfMuchLaterEpochs) {
  EXPECT_EQ(enters("a", max_sequence_jump + 1), 0u);
  EXPECT_EQ(rejected("a", RejectReason::absurd_sequence), 1u);
  EXPECT_EQ(link_table.newest_received_from_self(), 0u);
  EXPECT_NE(enters("a", max_sequence_jump), 0u);  // this peer may have lost its state
  EXPECT_EQ(link_table.newest_received_from_self(), max_sequence_jump);
  EXPECT_NE(enters("c", 2 * max_sequence_jump), 0u);  // the jump is relative to the newest known
}

TEST_F(LinkTableTest, RejectsValuesWhoseSquaresOverflow) {
  const std::uint64_t session = enters("a");
  EXPECT_TRUE(delivers("a", session, 1, {1e100, -1e100}));
  EXPECT_EQ(received()["a"], 1u);
  EXPECT_FALSE(delivers("a", session, 2, {1, -1.1e100}));
  EXPECT_EQ(rejected("a", RejectReason::not_finite), 1u);
  EXPECT_TRUE(received().empty());
  EXPECT_TRUE(delivers("a", session, 2, {1, 2}));  // the rejected message changed nothing
}

TEST_F(LinkTableWithWeights, KeepsOneMessageOfANeighbourThatFloodsItWithWeights) {
  const std::uint64_t a = enters("a"), c = enters("c");
  for (std::uint64_t sequence = 1; sequence <= 2000; ++sequence)
    ASSERT_TRUE(delivers_weight(a, sequence, static_cast<std::int64_t>(sequence)));
  EXPECT_TRUE(delivers("c", c, weighted_message(1, 1, 3).view()));
  const auto sequences = received();
  EXPECT_EQ(sequences, (std::map<std::string, std::uint64_t>{{"a", 2000}, {"c", 1}}));
  EXPECT_TRUE(received().empty());
}

// A new weight costs the loop factorizations.
TEST_F(LinkTableWithWeights, PassesANewWeightOfANeighbourInEveryOtherCallAtMost) {
  const std::uint64_t a = enters("a"), c = enters("c");
  std::uint64_t sequence = 0;
  int turns_with_a = 0;
  for (int turn = 0; turn < 20; ++turn) {
    ++sequence;
    ASSERT_TRUE(delivers_weight(a, sequence, static_cast<std::int64_t>(sequence)));
    ASSERT_TRUE(delivers("c", c, weighted_message(sequence, 1, turn == 0 ? 2 : 0).view()));
    const auto sequences = received();
    EXPECT_TRUE(sequences.contains("c")) << turn;
    if (!sequences.contains("a")) continue;
    EXPECT_EQ(sequences.at("a"), sequence);  // the newest, not the deferred one
    ++turns_with_a;
  }
  EXPECT_EQ(turns_with_a, 10);
  ASSERT_TRUE(delivers_weight(a, 100, 20));  // repeated, so not new
  ASSERT_TRUE(received().contains("a"));
  ASSERT_TRUE(delivers_weight(a, 101, 20));
  EXPECT_TRUE(received().contains("a"));
}

// Two processes that restore the same checkpoint use the same sequence numbers. The hello of a
// neighbour that received those of the first process reveals it to the second.
TEST_F(LinkTableTest, StartsANewEpochWhenAnotherProcessHasUsedItsSequenceNumbers) {
  const std::uint64_t epoch = std::uint64_t{5} << epoch_shift;
  ASSERT_NE(enters("c", epoch - 3), 0u);  // of an earlier epoch, so no conflict
  const std::vector<double> values{1, 2};
  link_table.send("c", plain_message(epoch + 200, values));
  EXPECT_EQ(link_table.newest_received_from_self(), epoch - 3);
  const std::uint64_t a = enters("a", epoch + 100);  // not from this process
  ASSERT_NE(a, 0u);
  EXPECT_GT(link_table.newest_received_from_self(), epoch + 200);
  EXPECT_EQ(next_epoch(link_table.newest_received_from_self()), next_epoch(epoch));
  link_table.send("a", plain_message(next_epoch(epoch) + 1, values));
  link_table.end_session("a", a);
  ASSERT_NE(enters("a", next_epoch(epoch) + 1), 0u);  // from this process
  EXPECT_EQ(link_table.newest_received_from_self(), next_epoch(epoch) + 1);
}

TEST_F(LinkTableWithWeights, KeepsTheNewestMessageForANeighbourThatDoesNotRead) {
  const std::uint64_t a = enters("a");
  for (std::uint64_t sequence = 1; sequence <= 2000; ++sequence) {
    const auto message = weighted_message(sequence, static_cast<std::int64_t>(sequence), 2);
    EXPECT_TRUE(link_table.send("a", message.view()));
  }
  const auto plain = weighted_message(2001, 2000, 0, 2.5);  // same version, without the weight
  EXPECT_TRUE(link_table.send("a", plain.view()));
  v1::Envelope envelope;
  ASSERT_TRUE(link_table.next_to_send("a", a, envelope));
  EXPECT_EQ(envelope.iterate().sequence(), 2001u);
  EXPECT_EQ(envelope.iterate().vector(0), 2.5);
  EXPECT_EQ(envelope.iterate().weights().sender_version(), 2000);
  EXPECT_TRUE(envelope.iterate().weights().has_update());
  EXPECT_EQ(link_table.statuses()[0].counts.iterates_sent, 1u);
}

TEST_F(LinkTableTest, NamesItsProtocolWhenItRejectsAnother) {
  v1::Hello hello = hello_from("a");
  hello.set_protocol(protocol_version - 1);
  std::uint64_t session = 0;
  const auto violation = link_table.admit(hello, session);
  ASSERT_TRUE(violation);
  EXPECT_EQ(violation->reason, RejectReason::wrong_protocol);
  EXPECT_EQ(violation->detail, "uses protocol 4, expected 5");
  EXPECT_EQ(session, 0u);
}

/// The violation that a peer of the protocols `own` finds in the hello of one of `other`.
std::optional<Violation> met(ProtocolRange own, ProtocolRange other) {
  const auto table = [](const std::string& self, ProtocolRange protocols) {
    return LinkTable({.network = "test",
                      .self = self,
                      .schema = {{"problem", "test"}},
                      .shape = dimension,
                      .protocols = protocols},
                     logger_to(std::make_shared<TestLog>()));
  };
  LinkTable receiver = table("b", own), sender = table("a", other);
  receiver.add_link("a");
  std::uint64_t session = 0;
  auto violation = receiver.admit(sender.hello_to("b"), session);
  EXPECT_EQ(session == 0, violation.has_value());
  return violation;
}

// Of two versions of the program that know 5, and 5 and 6, each accepts the other, so that a
// network is upgraded one peer at a time; the version after them is refused by the first and named
// by both.
TEST(Protocols, OfNeighbouringVersionsGoTogether) {
  const ProtocolRange first{.oldest = 5, .newest = 5}, second{.oldest = 5, .newest = 6},
      third{.oldest = 6, .newest = 7};
  for (const auto& [own, other] : {std::pair(first, second), std::pair(second, third)}) {
    EXPECT_FALSE(met(own, other));
    EXPECT_FALSE(met(other, own));
  }
  EXPECT_EQ(met(first, third)->reason, RejectReason::wrong_protocol);
  EXPECT_EQ(met(first, third)->detail, "uses protocol 6 to 7, expected 5");
  EXPECT_EQ(met(third, first)->detail, "uses protocol 5, expected 6 to 7");
  EXPECT_TRUE(met(second, {.oldest = 7, .newest = 6}));  // no range
}

v1::Envelope heartbeat_with(double sent_at, double echo, double echo_seconds) {
  v1::Envelope envelope;
  v1::Member member;
  member.set_name("a");
  envelope.mutable_heartbeat()->add_members()->set_member(member.SerializeAsString());
  envelope.mutable_heartbeat()->set_sent_at(sent_at);
  envelope.mutable_heartbeat()->set_echo(echo);
  envelope.mutable_heartbeat()->set_echo_seconds(echo_seconds);
  return envelope;
}

// The heartbeat that returns was sent 3 s ago, and the neighbour had it for half a second.
TEST_F(LinkTableTest, MeasuresTheRoundTripWithHeartbeats) {
  const std::uint64_t session = enters("a");
  const auto receive = [&](v1::Envelope envelope) {
    return link_table.deliver("a", session, envelope);
  };
  EXPECT_TRUE(receive(heartbeat_with(77, 0, 0)));
  EXPECT_EQ(link_table.round_trip("a"), 0);
  v1::Heartbeat published;
  published.add_members();
  link_table.publish(published);
  v1::Envelope sent;
  EXPECT_TRUE(link_table.next_to_send("a", session, sent));
  EXPECT_EQ(sent.heartbeat().echo(), 77);
  EXPECT_LT(sent.heartbeat().echo_seconds(), 10);
  const double now = monotonic_seconds();
  EXPECT_NEAR(sent.heartbeat().sent_at(), now, 10);
  EXPECT_TRUE(receive(heartbeat_with(78, now - 3, 0.5)));
  EXPECT_GE(link_table.round_trip("a"), 2.5);
  EXPECT_LT(link_table.round_trip("a"), 12.5);
  EXPECT_TRUE(receive(heartbeat_with(79, now, -1e9)));  // a false claim
  EXPECT_EQ(link_table.round_trip("a"), 60);
  EXPECT_FALSE(receive(heartbeat_with(80, std::numeric_limits<double>::quiet_NaN(), 0)));
}

}  // namespace
}  // namespace grove::peer
