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

constexpr ExpectedHello expected_hello{
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
  encode({.from = {}, .sequence = sequence, .payload = values}, static_cast<Index>(values.size()),
         false, iterate);
  return iterate;
}

RejectReason reason_of(const std::optional<Violation>& violation) {
  EXPECT_TRUE(violation.has_value());
  return violation ? violation->reason : RejectReason::malformed;
}

TEST(Hello, OfTheSameNetworkAndProblemIsAccepted) {
  EXPECT_FALSE(validate(good_hello(), expected_hello));
  v1::Hello with_estimate = good_hello();
  with_estimate.add_estimate(1);
  with_estimate.add_estimate(-2);
  EXPECT_FALSE(validate(with_estimate, expected_hello));
}

TEST(Hello, IsRejectedWithTheReason) {
  v1::Hello hello = good_hello();
  hello.set_protocol(protocol_version + 1);
  EXPECT_EQ(reason_of(validate(hello, expected_hello)), RejectReason::wrong_protocol);
  hello = good_hello();
  hello.set_network("elm");
  EXPECT_EQ(reason_of(validate(hello, expected_hello)), RejectReason::wrong_network);
  hello = good_hello();
  hello.set_fingerprint("loss=squared");
  EXPECT_EQ(reason_of(validate(hello, expected_hello)), RejectReason::wrong_problem);
  hello = good_hello();
  hello.set_from("peer-1");  // the receiver's own name
  EXPECT_EQ(reason_of(validate(hello, expected_hello)), RejectReason::wrong_name);
  hello = good_hello();
  hello.set_to("peer-2");
  EXPECT_EQ(reason_of(validate(hello, expected_hello)), RejectReason::wrong_name);
  hello = good_hello();
  hello.set_last_received(max_sequence);
  EXPECT_EQ(reason_of(validate(hello, expected_hello)), RejectReason::absurd_sequence);
  hello = good_hello();
  hello.add_estimate(1);
  EXPECT_EQ(reason_of(validate(hello, expected_hello)), RejectReason::wrong_dimension);
  hello.add_estimate(std::nan(""));
  EXPECT_EQ(reason_of(validate(hello, expected_hello)), RejectReason::not_finite);
}

TEST(Iterate, IsRejectedForDimensionSequenceOrValues) {
  const ExpectedIterate expected{.shape = 2, .last_sequence = 7};
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(validate(iterate_of(8, {1, 2}), expected));
  EXPECT_EQ(reason_of(validate(iterate_of(8, {1}), expected)), RejectReason::wrong_dimension);
  EXPECT_EQ(reason_of(validate(iterate_of(8, {1, 2, 3}), expected)), RejectReason::wrong_dimension);
  EXPECT_EQ(reason_of(validate(iterate_of(7, {1, 2}), expected)), RejectReason::stale_sequence);
  EXPECT_EQ(reason_of(validate(iterate_of(max_sequence + 1, {1, 2}), expected)),
            RejectReason::absurd_sequence);
  EXPECT_EQ(reason_of(validate(iterate_of(8, {1, std::nan("")}), expected)),
            RejectReason::not_finite);
  EXPECT_EQ(reason_of(validate(iterate_of(8, {-infinity, 1}), expected)), RejectReason::not_finite);
}

TEST(Iterate, IsExactAsDoublesAndRoundedAsFloats) {
  const std::vector<double> values{1.0 / 3, -2e-30, 5};
  std::vector<double> widened;
  v1::Iterate iterate;
  const auto back = [&] {
    const auto span = decode_payload(iterate, 3, widened);
    return std::vector<double>(span.begin(), span.end());
  };
  const Message message{.from = {}, .sequence = 3, .payload = values};
  encode(message, 3, false, iterate);
  EXPECT_EQ(back(), values);
  encode(message, 3, true, iterate);
  EXPECT_FALSE(validate(iterate, {.shape = 3, .float32 = true}));
  EXPECT_EQ(reason_of(validate(iterate, {.shape = 3})), RejectReason::wrong_dimension);
  EXPECT_EQ(back(), (std::vector<double>{1.0f / 3, -2e-30f, 5}));
}

/// The message of an agent with matrix link weights, in three dimensions.
struct WeightedMessage {
  explicit WeightedMessage(CurvatureForm form, std::int64_t receiver_version = 4) : shape(3, form) {
    const Matrix matrix{{4, 1, 0}, {1, 3, 1}, {0, 1, 2}};
    const std::vector<double> vector(receiver_version < 0 ? 0 : 3, 0.1);
    std::vector<double> weight;
    Curvature(form, matrix).append_words(weight);
    payload.push_back(std::bit_cast<double>(std::array{1.0f, 2.0f}));
    CurvatureMessage{.version = 5,
                     .of_yours = receiver_version,
                     .digest = 17,
                     .digest_of_yours = 0xffff0000,
                     .vector = vector,
                     .curvature = weight}
        .append_to(payload);
  }
  v1::Iterate iterate() const {
    v1::Iterate result;
    encode({.from = {}, .sequence = 8, .payload = payload}, shape, false, result);
    return result;
  }
  ExpectedIterate expected() const {
    return {.shape = shape, .last_sequence = 7, .newest_own_sequence = 4};
  }

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

TEST(LinkWeightOnTheWire, IsExactInEveryForm) {
  for (const CurvatureForm form : every_form())
    for (const std::int64_t receiver_version : {std::int64_t{-1}, std::int64_t{4}}) {
      const WeightedMessage message(form, receiver_version);
      const v1::Iterate iterate = message.iterate();
      EXPECT_FALSE(validate(iterate, message.expected()));
      EXPECT_FALSE(validate(iterate.weights().update(), message.shape));
      std::vector<double> buffer;
      EXPECT_TRUE(same_bits(decode_payload(iterate, message.shape, buffer), message.payload));
      EXPECT_LE(iterate.ByteSizeLong(), max_message_bytes(message.shape));
    }
}

TEST(LinkWeightOnTheWire, IsRejectedForImpossibleVersionsFormsOrNumbers) {
  const WeightedMessage good(CurvatureForm{CurvatureShape::full});
  const auto reason_when = [&](const auto& corrupt) {
    v1::Iterate iterate = good.iterate();
    corrupt(*iterate.mutable_weights());
    if (const auto violation = validate(iterate.weights().update(), good.shape))
      return violation->reason;
    return reason_of(validate(iterate, good.expected()));
  };
  using enum RejectReason;
  EXPECT_EQ(reason_when([](auto& w) { w.set_sender_version(9); }),
            absurd_sequence);  // newer than iterate 8
  EXPECT_EQ(reason_when([](auto& w) { w.set_sender_version(-1); }), absurd_sequence);
  EXPECT_EQ(reason_when([](auto& w) { w.set_receiver_version(5); }),
            absurd_sequence);  // never sent
  EXPECT_EQ(reason_when([](auto& w) { w.set_receiver_version(-2); }), wrong_dimension);
  EXPECT_EQ(reason_when([](auto& w) { w.set_depth(NAN); }), not_finite);
  EXPECT_EQ(reason_when([](auto& w) { w.mutable_update()->set_kind(v1::LinkWeight::SCALAR); }),
            wrong_link_weight);
  EXPECT_EQ(reason_when([](auto& w) { w.mutable_update()->set_rank(1); }), wrong_link_weight);
  EXPECT_EQ(reason_when([](auto& w) { w.mutable_update()->add_numbers(1); }), wrong_dimension);
  EXPECT_EQ(reason_when([](auto& w) { w.mutable_update()->set_numbers(1, 50); }),
            wrong_link_weight);  // no longer positive definite
  EXPECT_EQ(reason_when([](auto& w) { w.mutable_update()->set_numbers(1, NAN); }),
            wrong_link_weight);
  ExpectedIterate later = good.expected();
  later.last_weight_version = 6;
  EXPECT_EQ(reason_of(validate(good.iterate(), later)), stale_link_weight);
  later.last_weight_version = 5;  // repeated
  EXPECT_FALSE(validate(good.iterate(), later));
  EXPECT_EQ(reason_of(validate(good.iterate(), {.shape = 3, .last_sequence = 7})),
            wrong_link_weight);
  EXPECT_EQ(reason_of(validate(iterate_of(8, {1, 2, 3}), good.expected())), wrong_link_weight);
}

TEST(LinkWeightOnTheWire, MovesToTheNewerIterateUnlessThatHasAnotherVersion) {
  const WeightedMessage message(CurvatureForm{CurvatureShape::full});
  v1::Iterate older = message.iterate(), newer = message.iterate();
  newer.set_sequence(9);
  newer.mutable_weights()->clear_update();
  newer.mutable_weights()->set_sender_version(6);
  keep_weight_update(older, newer);
  EXPECT_FALSE(newer.weights().has_update());
  newer.mutable_weights()->set_sender_version(5);
  keep_weight_update(older, newer);
  EXPECT_FALSE(validate(newer.weights().update(), message.shape));
  v1::Iterate plain = iterate_of(1, {1}), next = iterate_of(2, {2});
  keep_weight_update(plain, next);
  EXPECT_FALSE(next.has_weights());
}

TEST(Hello, RejectsAnEstimateOutOfRange) {
  v1::Hello hello = good_hello();
  hello.add_estimate(1e99);
  hello.add_estimate(0);
  EXPECT_FALSE(validate(hello, expected_hello));
  hello.set_estimate(1, -1e101);
  EXPECT_EQ(reason_of(validate(hello, expected_hello)), RejectReason::not_finite);
}

TEST(Heartbeat, NamesEachMemberOnceWithAPossiblePhase) {
  v1::Heartbeat heartbeat;
  heartbeat.add_members()->set_name("peer-0");
  EXPECT_FALSE(validate(heartbeat));
  heartbeat.mutable_members(0)->set_residual(std::nan(""));
  EXPECT_EQ(reason_of(validate(heartbeat)), RejectReason::not_finite);
  heartbeat.mutable_members(0)->set_residual(std::numeric_limits<double>::infinity());
  EXPECT_FALSE(validate(heartbeat));  // before the first activation
  for (const double impossible : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    heartbeat.mutable_members(0)->set_step_seconds(impossible);
    EXPECT_EQ(reason_of(validate(heartbeat)), RejectReason::not_finite) << impossible;
  }
  heartbeat.mutable_members(0)->set_step_seconds(0.25);
  EXPECT_FALSE(validate(heartbeat));
  heartbeat.mutable_members(0)->set_phase(static_cast<v1::Member::Phase>(9));
  EXPECT_EQ(reason_of(validate(heartbeat)), RejectReason::malformed);
  heartbeat.mutable_members(0)->set_phase(v1::Member::LOCALLY_CONVERGED);
  heartbeat.add_members()->set_name("peer-0");
  EXPECT_EQ(reason_of(validate(heartbeat)), RejectReason::malformed);
}

TEST(PeerName, IsAValidDnsLabel) {
  for (const char* good : {"a", "peer-0", "0", "x9-y"}) EXPECT_TRUE(is_peer_name(good)) << good;
  for (const char* bad : {"", "-a", "a-", "Peer", "a.b", "*", "a b", "\xc3\xa9"})
    EXPECT_FALSE(is_peer_name(bad)) << bad;
  EXPECT_FALSE(is_peer_name(std::string(64, 'a')));
}

/// A buffer of several slices, as gRPC delivers messages.
grpc::ByteBuffer in_slices(std::string_view bytes, std::size_t piece) {
  std::vector<grpc::Slice> slices;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
    slices.emplace_back(bytes.data(), std::min(piece, bytes.size()));
  return {slices.data(), slices.size()};
}

TEST(LinkStream, ReadsWithoutExcessCapacity) {
  const std::vector<double> values(1000, 0.1);
  for (const bool float32 : {false, true}) {
    v1::Envelope sent, read;
    encode({.from = {}, .sequence = 9, .payload = values}, 1000, float32, *sent.mutable_iterate());
    v1::Iterate without_vector;
    const auto vector =
        encode_without_vector({.from = {}, .sequence = 9, .payload = values}, 1000, without_vector);
    grpc::ByteBuffer bytes = to_bytes(without_vector, to_bytes(vector, float32));
    EXPECT_EQ(bytes.Length(), sent.ByteSizeLong());
    grpc::ByteBuffer pieces = in_slices(sent.SerializeAsString(), 77);
    for (grpc::ByteBuffer* one : {&bytes, &pieces}) {
      parse(*one, 1000, read);
      EXPECT_EQ(read.SerializeAsString(), sent.SerializeAsString());
      const v1::Iterate& iterate = read.iterate();
      EXPECT_EQ(iterate.vector().Capacity() + iterate.rounded_vector().Capacity(), 1000);
    }
  }
}

TEST(LinkStream, TransfersLinkWeightsWithVectors) {
  for (const CurvatureForm& form : every_form()) {
    const WeightedMessage message(form);
    v1::Iterate without_vector;
    const auto values = encode_without_vector(
        {.from = {}, .sequence = 8, .payload = message.payload}, message.shape, without_vector);
    grpc::ByteBuffer bytes = to_bytes(without_vector, to_bytes(values, false));
    v1::Envelope read;
    parse(bytes, message.shape.dimension, read);
    EXPECT_EQ(read.iterate().SerializeAsString(), message.iterate().SerializeAsString());
  }
}

TEST(LinkStream, GivesAnEmptyEnvelopeForInvalidBytes) {
  v1::Envelope envelope;
  for (const std::string bytes :
       {std::string(), std::string(50, '\xff'), std::string("\x12\x70x")}) {
    envelope.mutable_iterate()->set_sequence(1);  // parse() must clear it
    grpc::ByteBuffer buffer = in_slices(bytes, 8);
    parse(buffer, 3, envelope);
    EXPECT_EQ(envelope.content_case(), v1::Envelope::CONTENT_NOT_SET);
  }
}

TEST(LinkStream, PrintsNothingAboutInvalidUtf8) {
  silence_protobuf();
  grpc::ByteBuffer buffer =
      in_slices("\x0a\x04\x12\x02\xc3\x28", 8);  // a hello with such a network name
  v1::Envelope envelope;
  ::testing::internal::CaptureStderr();
  parse(buffer, 3, envelope);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(envelope.content_case(), v1::Envelope::CONTENT_NOT_SET);
}

// The body of the libFuzzer target, with random bytes and with damaged valid messages.
RC_GTEST_PROP(WireBytes, NeverBreakTheReceiverIfRandom, (const std::string& bytes)) {
  fuzz_wire(bytes);
}

RC_GTEST_PROP(WireBytes, NeverBreakTheReceiverIfADamagedMessage,
              (const std::vector<double>& values, std::uint32_t place, char damage)) {
  v1::Envelope envelope;
  encode({.from = {}, .sequence = 9, .payload = values}, static_cast<Index>(values.size()),
         place % 2 == 0, *envelope.mutable_iterate());
  std::string bytes = envelope.SerializeAsString();
  bytes[place % bytes.size()] = damage;
  fuzz_wire(bytes);
}

RC_GTEST_PROP(WireBytes, NeverBreakTheReceiverIfADamagedLinkWeight,
              (std::uint8_t form, std::uint32_t place, char damage)) {
  v1::Envelope envelope;
  *envelope.mutable_iterate() = WeightedMessage(every_form()[form % 4]).iterate();
  std::string bytes = envelope.SerializeAsString();
  bytes[place % bytes.size()] = damage;
  fuzz_wire(bytes);
}

}  // namespace
}  // namespace grove::peer
