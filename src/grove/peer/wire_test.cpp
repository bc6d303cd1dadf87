#include "grove/peer/wire.h"

#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "grove/coupling/curvature_message.h"
#include "grove/peer/process_settings.h"
#include "grove/peer/wire_fuzz.h"

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
  pack({.from = {}, .sequence = sequence, .payload = values}, static_cast<Index>(values.size()),
       false, iterate);
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
  hello.set_protocol(protocol_version + 1);
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
  const IterateTerms expected{.shape = 2, .latest = 7};
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
    const auto span = payload_of(iterate, 3, widened);
    return std::vector<double>(span.begin(), span.end());
  };
  const Message message{.from = {}, .sequence = 3, .payload = values};
  pack(message, 3, false, iterate);
  EXPECT_EQ(back(), values);
  pack(message, 3, true, iterate);
  EXPECT_FALSE(flaw_of(iterate, {.shape = 3, .float32 = true}));
  EXPECT_EQ(refusal_of(flaw_of(iterate, {.shape = 3})), Refusal::wrong_dimension);
  EXPECT_EQ(back(), (std::vector<double>{1.0f / 3, -2e-30f, 5}));
}

/// The message of an agent whose links are weighed by curvature, in three dimensions.
struct WeighedMessage {
  explicit WeighedMessage(CurvatureForm form, std::int64_t of_yours = 4) : shape(3, form) {
    const Matrix matrix{{4, 1, 0}, {1, 3, 1}, {0, 1, 2}};
    const std::vector<double> vector(of_yours < 0 ? 0 : 3, 0.1);
    std::vector<double> words;
    Curvature(form, matrix).append_words(words);
    payload.push_back(std::bit_cast<double>(std::array{1.0f, 2.0f}));
    CurvatureMessage{.version = 5,
                     .of_yours = of_yours,
                     .digest = 17,
                     .digest_of_yours = 0xffff0000,
                     .vector = vector,
                     .curvature = words}
        .append_to(payload);
  }
  v1::Iterate iterate() const {
    v1::Iterate result;
    pack({.from = {}, .sequence = 8, .payload = payload}, shape, false, result);
    return result;
  }
  IterateTerms terms() const { return {.shape = shape, .latest = 7, .latest_own = 4}; }

  LinkShape shape;
  std::vector<double> payload;
};

std::vector<CurvatureForm> every_form() {
  return {{CurvatureShape::scalar},
          {CurvatureShape::diagonal},
          {CurvatureShape::low_rank, 2},
          {CurvatureShape::full}};
}

bool same_bits(std::span<const double> a, std::span<const double> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

TEST(CurvatureOnTheWire, TravelsExactlyInEveryForm) {
  for (const CurvatureForm form : every_form())
    for (const std::int64_t of_yours : {std::int64_t{-1}, std::int64_t{4}}) {
      const WeighedMessage message(form, of_yours);
      const v1::Iterate iterate = message.iterate();
      EXPECT_FALSE(flaw_of(iterate, message.terms()));
      EXPECT_FALSE(flaw_of(iterate.weight().curvature(), message.shape));
      std::vector<double> buffer;
      EXPECT_TRUE(same_bits(payload_of(iterate, message.shape, buffer), message.payload));
      EXPECT_LE(iterate.ByteSizeLong(), largest_message_bytes(message.shape));
    }
}

TEST(CurvatureOnTheWire, IsRefusedForVersionsFormOrNumbersThatAreNotPossible) {
  const WeighedMessage good(CurvatureForm{CurvatureShape::full});
  const auto refusal_when = [&](const auto& spoil) {
    v1::Iterate iterate = good.iterate();
    spoil(*iterate.mutable_weight());
    if (const auto flaw = flaw_of(iterate.weight().curvature(), good.shape)) return flaw->refusal;
    return refusal_of(flaw_of(iterate, good.terms()));
  };
  using enum Refusal;
  EXPECT_EQ(refusal_when([](auto& w) { w.set_version(9); }), absurd_sequence);  // of iterate 8
  EXPECT_EQ(refusal_when([](auto& w) { w.set_version(-1); }), absurd_sequence);
  EXPECT_EQ(refusal_when([](auto& w) { w.set_of_yours(5); }), absurd_sequence);  // never said
  EXPECT_EQ(refusal_when([](auto& w) { w.set_of_yours(-2); }), wrong_dimension);
  EXPECT_EQ(refusal_when([](auto& w) { w.set_depth(NAN); }), not_finite);
  EXPECT_EQ(refusal_when([](auto& w) { w.mutable_curvature()->set_kind(v1::Curvature::SCALAR); }),
            wrong_curvature);
  EXPECT_EQ(refusal_when([](auto& w) { w.mutable_curvature()->set_rank(1); }), wrong_curvature);
  EXPECT_EQ(refusal_when([](auto& w) { w.mutable_curvature()->add_numbers(1); }), wrong_dimension);
  EXPECT_EQ(refusal_when([](auto& w) { w.mutable_curvature()->set_numbers(1, 50); }),
            wrong_curvature);  // no longer positive definite
  EXPECT_EQ(refusal_when([](auto& w) { w.mutable_curvature()->set_numbers(1, NAN); }),
            wrong_curvature);
  IterateTerms later = good.terms();
  later.latest_version = 6;
  EXPECT_EQ(refusal_of(flaw_of(good.iterate(), later)), stale_curvature);
  later.latest_version = 5;  // told again: fine
  EXPECT_FALSE(flaw_of(good.iterate(), later));
  EXPECT_EQ(refusal_of(flaw_of(good.iterate(), {.shape = 3, .latest = 7})), wrong_curvature);
  EXPECT_EQ(refusal_of(flaw_of(iterate_of(8, {1, 2, 3}), good.terms())), wrong_curvature);
}

TEST(CurvatureOnTheWire, GoesWithTheNewerIterateUnlessThatHasAnotherVersion) {
  const WeighedMessage message(CurvatureForm{CurvatureShape::full});
  v1::Iterate older = message.iterate(), newer = message.iterate();
  newer.set_sequence(9);
  newer.mutable_weight()->clear_curvature();
  newer.mutable_weight()->set_version(6);
  keep_curvature(older, newer);
  EXPECT_FALSE(newer.weight().has_curvature());
  newer.mutable_weight()->set_version(5);
  keep_curvature(older, newer);
  EXPECT_FALSE(flaw_of(newer.weight().curvature(), message.shape));
  v1::Iterate plain = iterate_of(1, {1}), next = iterate_of(2, {2});
  keep_curvature(plain, next);
  EXPECT_FALSE(next.has_weight());
}

TEST(Hello, RefusesAnEstimateBeyondReason) {
  v1::Hello hello = good_hello();
  hello.add_estimate(1e99);
  hello.add_estimate(0);
  EXPECT_FALSE(flaw_of(hello, terms));
  hello.set_estimate(1, -1e101);
  EXPECT_EQ(refusal_of(flaw_of(hello, terms)), Refusal::not_finite);
}

TEST(Heartbeat, NamesEachMemberOnceWithAPossiblePhase) {
  v1::Heartbeat heartbeat;
  heartbeat.add_members()->set_name("peer-0");
  EXPECT_FALSE(flaw_of(heartbeat));
  heartbeat.mutable_members(0)->set_residual(std::nan(""));
  EXPECT_EQ(refusal_of(flaw_of(heartbeat)), Refusal::not_finite);
  heartbeat.mutable_members(0)->set_residual(std::numeric_limits<double>::infinity());
  EXPECT_FALSE(flaw_of(heartbeat));  // has not worked yet
  for (const double impossible : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    heartbeat.mutable_members(0)->set_step_seconds(impossible);
    EXPECT_EQ(refusal_of(flaw_of(heartbeat)), Refusal::not_finite) << impossible;
  }
  heartbeat.mutable_members(0)->set_step_seconds(0.25);
  EXPECT_FALSE(flaw_of(heartbeat));
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

/// As gRPC hands a message over: in pieces.
grpc::ByteBuffer in_pieces(std::string_view bytes, std::size_t piece) {
  std::vector<grpc::Slice> slices;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
    slices.emplace_back(bytes.data(), std::min(piece, bytes.size()));
  return {slices.data(), slices.size()};
}

TEST(LinkStream, ReadsWhatWasWrittenIntoNoMoreRoomThanItNeeds) {
  const std::vector<double> values(1000, 0.1);
  for (const bool float32 : {false, true}) {
    v1::Envelope sent, read;
    pack({.from = {}, .sequence = 9, .payload = values}, 1000, float32, *sent.mutable_iterate());
    v1::Iterate rest;
    const auto told = pack_but_values({.from = {}, .sequence = 9, .payload = values}, 1000, rest);
    grpc::ByteBuffer bytes = bytes_of(rest, bytes_of(told, float32));
    EXPECT_EQ(bytes.Length(), sent.ByteSizeLong());
    grpc::ByteBuffer pieces = in_pieces(sent.SerializeAsString(), 77);
    for (grpc::ByteBuffer* one : {&bytes, &pieces}) {
      read_bytes(*one, 1000, read);
      EXPECT_EQ(read.SerializeAsString(), sent.SerializeAsString());
      const v1::Iterate& iterate = read.iterate();
      EXPECT_EQ(iterate.values().Capacity() + iterate.rounded().Capacity(), 1000);
    }
  }
}

TEST(LinkStream, CarriesCurvaturesBesideValues) {
  for (const CurvatureForm& form : every_form()) {
    const WeighedMessage message(form);
    v1::Iterate rest;
    const auto values = pack_but_values({.from = {}, .sequence = 8, .payload = message.payload},
                                        message.shape, rest);
    grpc::ByteBuffer bytes = bytes_of(rest, bytes_of(values, false));
    v1::Envelope read;
    read_bytes(bytes, message.shape.dimension, read);
    EXPECT_EQ(read.iterate().SerializeAsString(), message.iterate().SerializeAsString());
  }
}

TEST(LinkStream, GivesNothingThatCouldBeAcceptedForBytesThatAreNoMessage) {
  v1::Envelope envelope;
  for (const std::string bytes :
       {std::string(), std::string(50, '\xff'), std::string("\x12\x70x")}) {
    envelope.mutable_iterate()->set_sequence(1);  // what was there before is gone
    grpc::ByteBuffer buffer = in_pieces(bytes, 8);
    read_bytes(buffer, 3, envelope);
    EXPECT_EQ(envelope.content_case(), v1::Envelope::CONTENT_NOT_SET);
  }
}

TEST(LinkStream, PrintsNothingAboutTextsThatAreNotUtf8) {
  keep_protobuf_quiet();
  grpc::ByteBuffer buffer = in_pieces("\x0a\x04\x12\x02\xc3\x28", 8);  // a hello of such a network
  v1::Envelope envelope;
  ::testing::internal::CaptureStderr();
  read_bytes(buffer, 3, envelope);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(envelope.content_case(), v1::Envelope::CONTENT_NOT_SET);
}

// The body of the libFuzzer target, driven here with random and with mutated honest bytes.
RC_GTEST_PROP(WireBytes, NeverBreakTheReceiverWhateverTheyAre, (const std::string& bytes)) {
  fuzz_wire(bytes);
}

RC_GTEST_PROP(WireBytes, NeverBreakTheReceiverWhenAnHonestMessageIsDamaged,
              (const std::vector<double>& values, std::uint32_t place, char damage)) {
  v1::Envelope envelope;
  pack({.from = {}, .sequence = 9, .payload = values}, static_cast<Index>(values.size()),
       place % 2 == 0, *envelope.mutable_iterate());
  std::string bytes = envelope.SerializeAsString();
  bytes[place % bytes.size()] = damage;
  fuzz_wire(bytes);
}

RC_GTEST_PROP(WireBytes, NeverBreakTheReceiverWhenAHonestCurvatureIsDamaged,
              (std::uint8_t form, std::uint32_t place, char damage)) {
  v1::Envelope envelope;
  *envelope.mutable_iterate() = WeighedMessage(every_form()[form % 4]).iterate();
  std::string bytes = envelope.SerializeAsString();
  bytes[place % bytes.size()] = damage;
  fuzz_wire(bytes);
}

}  // namespace
}  // namespace grove::peer
