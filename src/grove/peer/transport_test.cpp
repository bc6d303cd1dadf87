// What two ends make of each other's words: kept, dropped, rounded, held back.
#include <bit>
#include <cstring>

#include <gtest/gtest.h>

#include "grove/coupling/curvature_message.h"
#include "grove/peer/clock.h"
#include "grove/peer/session.h"
#include "grove/peer/test_endpoints.h"

namespace grove::peer {
namespace {

Message message_of(std::uint64_t sequence, const std::vector<double>& values) {
  return {.sequence = sequence, .payload = values};
}

/// Two ends, connected: a dials b.
struct Pair {
  explicit Pair(HubTerms terms_a = {}, HubTerms terms_b = {})
      : a("a", std::move(terms_a)), b("b", std::move(terms_b)) {
    b.hub.add_link("a");
    a.dial("b", b.address());
    EXPECT_TRUE(eventually([&] { return a.connected_to("b") && b.connected_to("a"); }))
        << a.log->text() << b.log->text();
  }
  /// What b keeps of that iterate of a.
  std::vector<double> carried(const std::vector<double>& values) {
    a.hub.say("b", message_of(1, values));
    EXPECT_TRUE(b.hub.wait_for_all(monotonic_seconds() + 120));
    return b.heard()["a"].values;
  }
  End a, b;
};

/// Version 3 of C = 2 I, in two dimensions.
std::vector<double> weighed_payload(std::int64_t of_yours, bool with_curvature) {
  const std::vector<double> vector(of_yours < 0 ? 0 : 2, 1.5);
  std::vector<double> words, payload{std::bit_cast<double>(std::array{0.0f, 1.0f})};
  if (with_curvature)
    Curvature({CurvatureShape::full}, 2 * Matrix::Identity(2, 2)).append_words(words);
  CurvatureMessage{.version = 3, .of_yours = of_yours, .vector = vector, .curvature = words}
      .append_to(payload);
  return payload;
}

TEST(Transport, CarriesCurvaturesAndKeepsOneThatANewerIterateOverwrites) {
  const LinkShape shape(test_dimension, CurvatureForm{CurvatureShape::full});
  Pair pair({.shape = shape}, {.shape = shape});
  const auto whole = weighed_payload(1, true), plain = weighed_payload(1, false);
  EXPECT_TRUE(pair.b.hub.say("a", message_of(3, weighed_payload(-1, true))));
  const auto received = [&] { return pair.b.link("a").counts.iterates_received; };
  EXPECT_TRUE(pair.a.hub.say("b", message_of(5, whole)));
  ASSERT_TRUE(eventually([&] { return received() == 1; })) << pair.b.log->text();
  EXPECT_TRUE(pair.a.hub.say("b", message_of(6, plain)));
  ASSERT_TRUE(eventually([&] { return received() == 2; })) << pair.b.log->text();
  const auto heard = pair.b.heard()["a"];
  EXPECT_EQ(heard.sequence, 6u);
  ASSERT_EQ(heard.values.size(), whole.size());
  EXPECT_EQ(std::memcmp(heard.values.data(), whole.data(), whole.size() * sizeof(double)), 0);
  pair.a.hub.add_link("nobody");
  EXPECT_FALSE(pair.a.hub.say("nobody", message_of(7, plain)));
}

TEST(Transport, CarriesIteratesAndHeartbeatsBothWays) {
  Pair pair;
  const std::vector<double> from_a{1, 2}, from_b{3, 4};
  pair.a.hub.say("b", message_of(7, from_a));
  pair.b.hub.say("a", message_of(9, from_b));
  v1::Heartbeat heartbeat;
  heartbeat.add_members()->set_name("a");
  pair.a.hub.say_to_all(heartbeat);
  ASSERT_TRUE(pair.a.hub.wait_for_all(monotonic_seconds() + 120));
  ASSERT_TRUE(pair.b.hub.wait_for_all(monotonic_seconds() + 120));
  EXPECT_EQ(pair.a.heard()["b"], (End::Word{9, from_b}));
  EXPECT_EQ(pair.b.heard()["a"], (End::Word{7, from_a}));
  EXPECT_TRUE(pair.b.heard().empty());  // each is handed over once
  EXPECT_TRUE(eventually([&] { return pair.b.hub.take_heartbeats().size() == 1; }));
}

TEST(Transport, RoundsToFloat32OnlyWhereBothEndsSaidSo) {
  const std::vector<double> exact{1.0 / 3, 1e-3}, rounded{1.0f / 3, 1e-3f};
  EXPECT_EQ(Pair({.float32 = true}, {.float32 = true}).carried(exact), rounded);
  EXPECT_EQ(Pair({.float32 = true}, {}).carried(exact), exact);
  EXPECT_EQ(Pair({}, {.float32 = true}).carried(exact), exact);
  EXPECT_EQ(Pair().carried(exact), exact);
}

TEST(Transport, ComesBackWhenTheOtherEndReturns) {
  End a("a");
  std::string address;
  {
    End b("b");
    b.hub.add_link("a");
    address = b.address();
    a.dial("b", address);
    ASSERT_TRUE(eventually([&] { return a.connected_to("b"); })) << a.log->text();
  }
  ASSERT_TRUE(eventually([&] { return !a.connected_to("b"); }));
  End again("b", {}, address);
  again.hub.add_link("a");
  EXPECT_TRUE(eventually([&] { return a.connected_to("b"); })) << a.log->text();
  EXPECT_GE(a.link("b").counts.sessions, 2u);
}

TEST(Transport, OldIteratesAreDroppedAndOnlyTheNewestIsKept) {
  End b("b");
  b.hub.add_link("a");
  Caller a(b, identity_of("a"));
  ASSERT_TRUE(a.enters_as("a")) << b.log->text();
  for (std::uint64_t sequence = 1; sequence <= 50; ++sequence)
    a.say(sequence, {double(sequence), 0});
  a.say(3, {-1, -1});
  a.say(50, {-1, -1});
  ASSERT_TRUE(eventually([&] { return b.refused("a", Refusal::stale_sequence) == 2; }));
  EXPECT_EQ(b.heard()["a"], (End::Word{50, {50, 0}}));
  EXPECT_TRUE(b.connected_to("a"));
}

TEST(Transport, ANeighbourThatStopsReadingHoldsNobodyUpAndHearsTheNewestWhenItReadsAgain) {
  End b("b");
  b.hub.add_link("a");
  Caller a(b, identity_of("a"));
  ASSERT_TRUE(a.enters_as("a")) << b.log->text();
  // Far more than any buffer on the way holds. Should saying ever wait for a, this never ends.
  constexpr std::uint64_t last = 200'000;
  const std::vector<double> values{1, 2};
  for (std::uint64_t sequence = 1; sequence <= last; ++sequence)
    b.hub.say("a", message_of(sequence, values));
  v1::Envelope envelope;
  std::uint64_t read = 0;
  do {
    ASSERT_TRUE(a.hears(envelope));
    ++read;
  } while (envelope.iterate().sequence() < last);
  EXPECT_LT(read, last / 2);  // nothing was queued behind it
  EXPECT_EQ(b.link("a").counts.iterates_sent, read);
}

TEST(Throttle, HoldsAFloodToFiftyThousandMessagesASecond) {
  double now = 100;
  Throttle throttle(now);
  for (int k = 0; k < 500'000; ++k) now += throttle.rest_after_message(now);  // as fast as can be
  EXPECT_NEAR(now, 110, 1e-6);
}

TEST(Throttle, NeverRestsAfterANeighbourThatKeepsToLess) {
  double now = 100;
  Throttle throttle(now);
  for (int k = 0; k < 100'000; ++k) {
    now += 1.0 / 45'000;
    ASSERT_EQ(throttle.rest_after_message(now), 0) << k;
  }
}

TEST(Transport, AFloodingNeighbourFillsNoMemoryAndDoesNotKeepOthersFromBeingHeard) {
  End b("b");
  b.hub.add_link("a");
  b.hub.add_link("c");
  Caller a(b, identity_of("a")), c(b, identity_of("c"));
  ASSERT_TRUE(a.enters_as("a") && c.enters_as("c")) << b.log->text();
  std::thread flood([&] {
    for (std::uint64_t sequence = 1; a.say(sequence, {1, 1}); ++sequence) {
    }
  });
  ASSERT_TRUE(eventually([&] { return b.link("a").counts.iterates_received > 5000; }));
  c.say(1, {5, 6});
  EXPECT_TRUE(eventually([&] { return b.heard().contains("c"); }));
  EXPECT_LE(b.heard().size(), 1u);  // of a's thousands only the newest waits
  b.hub.close();                    // ends the stream, and with it the flood
  flood.join();
}

}  // namespace
}  // namespace grove::peer
