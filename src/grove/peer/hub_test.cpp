// A hub by hand: what it lets in, keeps and passes on, without a network.
#include "grove/peer/hub.h"

#include <bit>

#include <gtest/gtest.h>

#include "grove/coupling/curvature_message.h"
#include "grove/peer/link_stream.h"
#include "grove/peer/test_hello.h"
#include "grove/peer/test_log.h"

namespace grove::peer {
namespace {

constexpr Index dimension = 2;
const LinkShape full_shape(dimension, CurvatureForm{CurvatureShape::full});

/// The words of an agent whose links are weighed by curvature: C = `size` I, if it is told.
std::vector<double> payload_with(std::int64_t version, double size, double value = 1.5) {
  const std::vector<double> vector(dimension, value);
  std::vector<double> words, payload{std::bit_cast<double>(std::array{0.0f, 1.0f})};
  if (size > 0)
    Curvature({CurvatureShape::full}, size * Matrix::Identity(dimension, dimension))
        .append_words(words);
  CurvatureMessage{.version = version, .of_yours = 0, .vector = vector, .curvature = words}
      .append_to(payload);
  return payload;
}

/// The hub of b with the neighbours a and c; their words are handed to it as a stream would.
class HandFedHub : public ::testing::Test {
 protected:
  explicit HandFedHub(LinkShape shape = dimension)
      : hub({.network = "test", .self = "b", .fingerprint = "problem", .shape = shape},
            logger_to(log)),
        shape_(shape) {
    hub.add_link("a");
    hub.add_link("c");
  }
  /// The session, or 0: refused.
  std::uint64_t enters(const std::string& name, std::uint64_t heard = 0) {
    std::uint64_t session = 0;
    hub.admit(hello_from(name, heard), session);
    return session;
  }
  bool delivers(const std::string& name, std::uint64_t session, std::uint64_t sequence,
                const std::vector<double>& payload) {
    v1::Envelope envelope;
    pack({.from = {}, .sequence = sequence, .payload = payload}, shape_, false,
         *envelope.mutable_iterate());
    return hub.deliver(name, session, envelope);
  }
  std::uint64_t refused(const std::string& name, Refusal kind) const {
    std::uint64_t count = 0;
    for (const LinkStatus& link : hub.links())
      if (link.name == name) count = link.counts.refused[static_cast<std::size_t>(kind)];
    return count;
  }
  /// The newest sequence of each that was heard since the last call.
  std::map<std::string, std::uint64_t> heard() {
    std::map<std::string, std::uint64_t> result;
    hub.take_iterates([&](const std::string& name, const Message& message) {
      result[name] = message.sequence;
      last_payload.assign(message.payload.begin(), message.payload.end());
    });
    return result;
  }

  std::shared_ptr<TestLog> log = std::make_shared<TestLog>();
  Hub hub;
  std::vector<double> last_payload;

 private:
  LinkShape shape_;
};

class HandFedHubWithCurvature : public HandFedHub {
 protected:
  HandFedHubWithCurvature() : HandFedHub(full_shape) {}
  bool delivers_curvature(std::uint64_t session, std::uint64_t sequence, std::int64_t version) {
    return delivers("a", session, sequence, payload_with(version, 2));
  }
};

// A neighbour that fell back to an older checkpoint knows an older curvature of its own.
TEST_F(HandFedHubWithCurvature, TakesAnOlderCurvatureInANewSessionOnly) {
  const std::uint64_t first = enters("a");
  EXPECT_TRUE(delivers_curvature(first, 9, 9));
  EXPECT_TRUE(delivers_curvature(first, 10, 4));  // refused, but no reason to end the stream
  EXPECT_EQ(refused("a", Refusal::stale_curvature), 1u);
  hub.end_session("a", first);
  const std::uint64_t second = enters("a");
  EXPECT_TRUE(delivers_curvature(second, 11, 4));
  EXPECT_EQ(refused("a", Refusal::stale_curvature), 1u);
  EXPECT_EQ(heard()["a"], 11u);
}

TEST_F(HandFedHub, RefusesAHelloThatHasHeardNumbersOfLivesFarToCome) {
  EXPECT_EQ(enters("a", farthest_jump + 1), 0u);
  EXPECT_EQ(refused("a", Refusal::absurd_sequence), 1u);
  EXPECT_EQ(hub.newest_heard_of_self(), 0u);
  EXPECT_NE(enters("a", farthest_jump), 0u);  // of a peer that has lost its state
  EXPECT_EQ(hub.newest_heard_of_self(), farthest_jump);
  EXPECT_NE(enters("c", 2 * farthest_jump), 0u);  // not far from that
}

TEST_F(HandFedHub, RefusesNumbersSoLargeThatTheirSquaresOverflow) {
  const std::uint64_t session = enters("a");
  EXPECT_TRUE(delivers("a", session, 1, {1e100, -1e100}));
  EXPECT_EQ(heard()["a"], 1u);
  EXPECT_FALSE(delivers("a", session, 2, {1, -1.1e100}));
  EXPECT_EQ(refused("a", Refusal::not_finite), 1u);
  EXPECT_TRUE(heard().empty());
  EXPECT_TRUE(delivers("a", session, 2, {1, 2}));  // nothing was remembered of it
}

TEST_F(HandFedHubWithCurvature, KeepsOneWordOfANeighbourThatFloodsItWithCurvatures) {
  const std::uint64_t a = enters("a"), c = enters("c");
  for (std::uint64_t sequence = 1; sequence <= 2000; ++sequence)
    ASSERT_TRUE(delivers("a", a, sequence, payload_with(static_cast<std::int64_t>(sequence), 2)));
  EXPECT_TRUE(delivers("c", c, 1, payload_with(1, 3)));
  const auto words = heard();
  EXPECT_EQ(words, (std::map<std::string, std::uint64_t>{{"a", 2000}, {"c", 1}}));
  EXPECT_TRUE(heard().empty());
}

// Taking one up costs the loop factorizations.
TEST_F(HandFedHubWithCurvature, HandsOverANewCurvatureOfANeighbourInEveryOtherTurnAtMost) {
  const std::uint64_t a = enters("a"), c = enters("c");
  std::uint64_t sequence = 0;
  int turns_with_a = 0;
  for (int turn = 0; turn < 20; ++turn) {
    ++sequence;
    ASSERT_TRUE(delivers_curvature(a, sequence, static_cast<std::int64_t>(sequence)));
    ASSERT_TRUE(delivers("c", c, sequence, payload_with(1, turn == 0 ? 2 : 0)));
    const auto words = heard();
    EXPECT_TRUE(words.contains("c")) << turn;
    if (!words.contains("a")) continue;
    EXPECT_EQ(words.at("a"), sequence);  // the newest, not the one that was put off
    ++turns_with_a;
  }
  EXPECT_EQ(turns_with_a, 10);
  ASSERT_TRUE(delivers_curvature(a, 100, 20));  // told again: no news
  ASSERT_TRUE(heard().contains("a"));
  ASSERT_TRUE(delivers_curvature(a, 101, 20));
  EXPECT_TRUE(heard().contains("a"));
}

// Two processes over one checkpoint use the same numbers; who heard the first must notice.
TEST_F(HandFedHub, EndsALifeWhoseNumbersAnotherProcessHasUsed) {
  const std::uint64_t life = std::uint64_t{5} << life_bits;
  ASSERT_NE(enters("c", life - 3), 0u);  // of an earlier life: nothing to notice
  const std::vector<double> values{1, 2};
  hub.say("c", {.from = {}, .sequence = life + 200, .payload = values});
  EXPECT_EQ(hub.newest_heard_of_self(), life - 3);
  const std::uint64_t a = enters("a", life + 100);  // not from this process
  ASSERT_NE(a, 0u);
  EXPECT_GT(hub.newest_heard_of_self(), life + 200);
  EXPECT_EQ(next_life(hub.newest_heard_of_self()), next_life(life));
  hub.say("a", {.from = {}, .sequence = next_life(life) + 1, .payload = values});
  hub.end_session("a", a);
  ASSERT_NE(enters("a", next_life(life) + 1), 0u);  // from this process
  EXPECT_EQ(hub.newest_heard_of_self(), next_life(life) + 1);
}

TEST_F(HandFedHubWithCurvature, KeepsTheNewestWordForANeighbourThatDoesNotRead) {
  const std::uint64_t a = enters("a");
  for (std::uint64_t sequence = 1; sequence <= 2000; ++sequence) {
    const auto payload = payload_with(static_cast<std::int64_t>(sequence), 2);
    EXPECT_TRUE(hub.say("a", {.from = {}, .sequence = sequence, .payload = payload}));
  }
  const auto plain = payload_with(2000, 0, 2.5);  // of the same version, not told again
  EXPECT_TRUE(hub.say("a", {.from = {}, .sequence = 2001, .payload = plain}));
  grpc::ByteBuffer bytes;
  ASSERT_TRUE(hub.next("a", a, bytes));
  v1::Envelope envelope;
  read_bytes(bytes, dimension, envelope);
  EXPECT_EQ(envelope.iterate().sequence(), 2001u);
  EXPECT_EQ(envelope.iterate().values(0), 2.5);
  EXPECT_EQ(envelope.iterate().weight().version(), 2000);
  EXPECT_TRUE(envelope.iterate().weight().has_curvature());
  EXPECT_EQ(hub.links()[0].counts.iterates_sent, 1u);
}

TEST_F(HandFedHub, TellsAnotherProtocolWhatItSpeaks) {
  v1::Hello hello = hello_from("a");
  hello.set_protocol(protocol_version - 1);
  std::uint64_t session = 0;
  const auto flaw = hub.admit(hello, session);
  ASSERT_TRUE(flaw);
  EXPECT_EQ(flaw->refusal, Refusal::wrong_protocol);
  EXPECT_EQ(flaw->detail, "speaks protocol 1, expected 2");
  EXPECT_EQ(session, 0u);
}

}  // namespace
}  // namespace grove::peer
