#include "grove/runtime/peer/wire.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "grove/runtime/peer/wire_fuzz.h"

namespace grove::peer {
namespace {

constexpr HelloTerms terms{
    .network = "oak", .self = "peer-1", .fingerprint = "loss=logistic", .dimension = 2};

v1::Hello good_hello() {
  v1::Hello hello;
  hello.set_protocol(protocol_version);
  hello.set_network("oak");
  hello.set_from("peer-0");
  hello.set_to("peer-1");
  hello.set_fingerprint("loss=logistic");
  return hello;
}

v1::Iterate iterate_of(std::uint64_t sequence, std::vector<double> values) {
  v1::Iterate iterate;
  pack(sequence, values, false, iterate);
  return iterate;
}

Refusal refusal_of(const std::optional<Flaw>& flaw) {
  EXPECT_TRUE(flaw.has_value());
  return flaw ? flaw->refusal : Refusal::malformed;
}

TEST(Hello, OfTheSameNetworkAndProblemIsAccepted) {
  EXPECT_FALSE(flaw_of(good_hello(), terms));
  v1::Hello with_estimate = good_hello();
  with_estimate.add_estimate(1);
  with_estimate.add_estimate(-2);
  EXPECT_FALSE(flaw_of(with_estimate, terms));
}

TEST(Hello, WithAnythingElseIsRefusedForWhatIsWrong) {
  v1::Hello hello = good_hello();
  hello.set_protocol(2);
  EXPECT_EQ(refusal_of(flaw_of(hello, terms)), Refusal::wrong_protocol);
  hello = good_hello();
  hello.set_network("elm");
  EXPECT_EQ(refusal_of(flaw_of(hello, terms)), Refusal::wrong_network);
  hello = good_hello();
  hello.set_fingerprint("loss=squared");
  EXPECT_EQ(refusal_of(flaw_of(hello, terms)), Refusal::wrong_problem);
  hello = good_hello();
  hello.set_from("peer-1");  // the receiver's own name
  EXPECT_EQ(refusal_of(flaw_of(hello, terms)), Refusal::wrong_name);
  hello = good_hello();
  hello.set_to("peer-2");
  EXPECT_EQ(refusal_of(flaw_of(hello, terms)), Refusal::wrong_name);
  hello = good_hello();
  hello.set_heard(largest_sequence);
  EXPECT_EQ(refusal_of(flaw_of(hello, terms)), Refusal::absurd_sequence);
  hello = good_hello();
  hello.add_estimate(1);
  EXPECT_EQ(refusal_of(flaw_of(hello, terms)), Refusal::wrong_dimension);
  hello.add_estimate(std::nan(""));
  EXPECT_EQ(refusal_of(flaw_of(hello, terms)), Refusal::not_finite);
}

TEST(Iterate, IsRefusedForDimensionSequenceOrNumbersThatAreNone) {
  const IterateTerms expected{.dimension = 2, .latest = 7};
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(flaw_of(iterate_of(8, {1, 2}), expected));
  EXPECT_EQ(refusal_of(flaw_of(iterate_of(8, {1}), expected)), Refusal::wrong_dimension);
  EXPECT_EQ(refusal_of(flaw_of(iterate_of(8, {1, 2, 3}), expected)), Refusal::wrong_dimension);
  EXPECT_EQ(refusal_of(flaw_of(iterate_of(7, {1, 2}), expected)), Refusal::stale_sequence);
  EXPECT_EQ(refusal_of(flaw_of(iterate_of(largest_sequence + 1, {1, 2}), expected)),
            Refusal::absurd_sequence);
  EXPECT_EQ(refusal_of(flaw_of(iterate_of(8, {1, std::nan("")}), expected)), Refusal::not_finite);
  EXPECT_EQ(refusal_of(flaw_of(iterate_of(8, {-infinity, 1}), expected)), Refusal::not_finite);
}

TEST(Iterate, TravelsExactlyAsDoublesAndToSevenDigitsAsFloats) {
  const std::vector<double> values{1.0 / 3, -2e-30, 5};
  std::vector<double> widened;
  v1::Iterate iterate;
  const auto back = [&] {
    const auto span = values_of(iterate, widened);
    return std::vector<double>(span.begin(), span.end());
  };
  pack(3, values, false, iterate);
  EXPECT_EQ(back(), values);
  pack(3, values, true, iterate);
  EXPECT_FALSE(flaw_of(iterate, {.dimension = 3, .float32 = true}));
  EXPECT_EQ(refusal_of(flaw_of(iterate, {.dimension = 3})), Refusal::wrong_dimension);
  EXPECT_EQ(back(), (std::vector<double>{1.0f / 3, -2e-30f, 5}));
}

TEST(Heartbeat, NamesEachMemberOnceWithAPossiblePhase) {
  v1::Heartbeat heartbeat;
  heartbeat.add_members()->set_name("peer-0");
  EXPECT_FALSE(flaw_of(heartbeat));
  heartbeat.mutable_members(0)->set_residual(std::nan(""));
  EXPECT_EQ(refusal_of(flaw_of(heartbeat)), Refusal::not_finite);
  heartbeat.mutable_members(0)->set_residual(std::numeric_limits<double>::infinity());
  EXPECT_FALSE(flaw_of(heartbeat));  // has not worked yet
  heartbeat.mutable_members(0)->set_phase(static_cast<v1::Member::Phase>(9));
  EXPECT_EQ(refusal_of(flaw_of(heartbeat)), Refusal::malformed);
  heartbeat.mutable_members(0)->set_phase(v1::Member::CALM);
  heartbeat.add_members()->set_name("peer-0");
  EXPECT_EQ(refusal_of(flaw_of(heartbeat)), Refusal::malformed);
}

TEST(PeerName, IsWhatACertificateCanCarry) {
  for (const char* good : {"a", "peer-0", "0", "x9-y"}) EXPECT_TRUE(is_peer_name(good)) << good;
  for (const char* bad : {"", "-a", "a-", "Peer", "a.b", "*", "a b", "\xc3\xa9"})
    EXPECT_FALSE(is_peer_name(bad)) << bad;
  EXPECT_FALSE(is_peer_name(std::string(64, 'a')));
}

// The body of the libFuzzer target, driven here with random and with mutated honest bytes.
RC_GTEST_PROP(WireBytes, NeverBreakTheReceiverWhateverTheyAre, (const std::string& bytes)) {
  fuzz_wire(bytes);
}

RC_GTEST_PROP(WireBytes, NeverBreakTheReceiverWhenAnHonestMessageIsDamaged,
              (const std::vector<double>& values, std::uint32_t place, char damage)) {
  v1::Envelope envelope;
  pack(9, values, place % 2 == 0, *envelope.mutable_iterate());
  std::string bytes = envelope.SerializeAsString();
  bytes[place % bytes.size()] = damage;
  fuzz_wire(bytes);
}

}  // namespace
}  // namespace grove::peer
