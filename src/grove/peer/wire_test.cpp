#include "grove/peer/wire.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "grove/coupling/link_weight.h"
#include "grove/coupling/sparse_weight.h"
#include "grove/peer/process_settings.h"
#include "grove/peer/wire_fuzz.h"

namespace grove::peer {
namespace {

const Schema own_schema{{"loss", "logistic"}, {"columns", columns_value({"age", "bmi"})}};
const ExpectedHello expected_hello{
    .network = "oak", .self = "peer-1", .schema = own_schema, .dimension = 2};

v1::Hello good_hello() {
  v1::Hello hello;
  hello.set_protocol(protocol_version);
  hello.set_network("oak");
  hello.set_from("peer-0");
  hello.set_to("peer-1");
  set_schema(own_schema, hello);
  return hello;
}

Message message_of(std::uint64_t sequence, const std::vector<double>& vector) {
  return {.sender = {}, .sequence = sequence, .vector = vector};
}

v1::Iterate iterate_of(std::uint64_t sequence, const std::vector<double>& vector) {
  return encode(message_of(sequence, vector), static_cast<Index>(vector.size()), false);
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
  hello.mutable_schema(0)->set_value("squared");
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
    const auto vector = decode(iterate, LinkShape(3), widened).vector;
    return std::vector<double>(vector.begin(), vector.end());
  };
  const Message message = message_of(3, values);
  iterate = encode(message, 3, false);
  EXPECT_EQ(back(), values);
  iterate = encode(message, 3, true);
  EXPECT_FALSE(validate(iterate, {.shape = 3, .float32 = true}));
  EXPECT_EQ(reason_of(validate(iterate, {.shape = 3})), RejectReason::wrong_dimension);
  EXPECT_EQ(back(), (std::vector<double>{1.0f / 3, -2e-30f, 5}));
}

/// The message of an agent with matrix link weights, in three dimensions.
struct WeightedMessage {
  explicit WeightedMessage(LinkWeightForm form, std::int64_t receiver_version = 4)
      : shape(3, form),
        vector(receiver_version < 0 ? 0 : 3, 0.1),
        weight(form, Matrix{{4, 1, 0}, {1, 3, 1}, {0, 1, 2}}),
        pair{.sender = {.version = 5, .digest = 17},
             .receiver = {.version = receiver_version, .digest = 0xffff0000}} {}
  Message message() const {
    return {.sender = {},
            .sequence = 8,
            .hops = HopCounts{.from_root = 1, .depth = 2},
            .weights = pair,
            .vector = vector,
            .weight_update = weight.numbers()};
  }
  v1::Iterate iterate() const { return encode(message(), shape, false); }
  ExpectedIterate expected() const {
    return {.shape = shape, .last_sequence = 7, .newest_own_sequence = 4};
  }

  LinkShape shape;
  std::vector<double> vector;
  LinkWeight weight;
  WeightPair pair;
};

std::vector<LinkWeightForm> every_form() {
  return {{LinkWeightShape::scalar},
          {LinkWeightShape::diagonal},
          {LinkWeightShape::low_rank, 2},
          {LinkWeightShape::full}};
}

template <class Number>
bool same_bits(std::span<const Number> a, std::span<const Number> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

TEST(SparseWeightOnTheWire, IsExactAndChecked) {
  LinkShape shape(6, LinkWeightForm{LinkWeightShape::sparse});
  Vector diagonal(6);
  diagonal << 1, 2, 0.5, 4, 1e-3, 3;
  Matrix block = Matrix::Zero(2, 2);
  block(1, 0) = 0.7;
  const SparseWeight weight(diagonal, {1, 3}, block);
  const std::vector<double> numbers{0.1, -2e-30};
  const std::vector<std::uint32_t> indices{0, 5};
  const Message message{.sequence = 9,
                        .hops = HopCounts{},
                        .weights = WeightPair{.sender = {3, 1}, .receiver = {2, 7}},
                        .vector = numbers,
                        .weight_update = weight.numbers(),
                        .sparse = SparseFields{.indices = indices,
                                               .codes = weight.codes(),
                                               .support = weight.support(),
                                               .update = {9, weight.digest()}}};
  const v1::Iterate iterate = encode(message, shape, false);
  const ExpectedIterate expected{.shape = shape, .last_sequence = 7, .newest_own_sequence = 4};
  EXPECT_FALSE(validate(iterate, expected));
  EXPECT_FALSE(validate(iterate.weights().update(), shape));
  EXPECT_LE(iterate.ByteSizeLong(), max_message_bytes(shape));
  std::vector<double> buffer;
  const Message back = decode(iterate, shape, buffer);
  ASSERT_TRUE(back.sparse);
  EXPECT_TRUE(std::ranges::equal(back.vector, numbers));
  EXPECT_TRUE(std::ranges::equal(back.sparse->indices, indices));
  EXPECT_EQ(back.sparse->update, message.sparse->update);
  const SparseWeight received = SparseWeight::from_message(6, back.weight_update, *back.sparse);
  EXPECT_EQ(received.digest(), weight.digest());

  const auto reason_when = [&](const auto& spoil) {
    v1::Iterate spoilt = iterate;
    spoil(spoilt);
    if (const auto violation = validate(spoilt, expected)) return reason_of(violation);
    return reason_of(validate(spoilt.weights().update(), shape));
  };
  EXPECT_EQ(reason_when([](auto& i) { i.set_indices(1, 6); }), RejectReason::malformed);
  EXPECT_EQ(reason_when([](auto& i) { i.set_indices(1, 0); }), RejectReason::malformed);
  EXPECT_EQ(reason_when([](auto& i) { i.add_vector(1); }), RejectReason::wrong_dimension);
  EXPECT_EQ(reason_when([](auto& i) { i.mutable_weights()->mutable_update()->set_version(10); }),
            RejectReason::absurd_sequence);
  EXPECT_EQ(reason_when([](auto& i) { i.mutable_weights()->mutable_update()->set_codes("x"); }),
            RejectReason::wrong_dimension);
  EXPECT_EQ(reason_when([](auto& i) { i.mutable_weights()->mutable_update()->set_numbers(2, 9); }),
            RejectReason::wrong_link_weight);
}

TEST(LinkWeightOnTheWire, IsExactInEveryForm) {
  for (const LinkWeightForm form : every_form())
    for (const std::int64_t receiver_version : {std::int64_t{-1}, std::int64_t{4}}) {
      const WeightedMessage message(form, receiver_version);
      const v1::Iterate iterate = message.iterate();
      EXPECT_FALSE(validate(iterate, message.expected()));
      EXPECT_FALSE(validate(iterate.weights().update(), message.shape));
      std::vector<double> buffer;
      const Message decoded = decode(iterate, message.shape, buffer), original = message.message();
      EXPECT_EQ(decoded.sequence, original.sequence);
      EXPECT_EQ(decoded.hops, original.hops);
      EXPECT_EQ(decoded.weights, original.weights);
      EXPECT_TRUE(same_bits(decoded.vector, original.vector));
      EXPECT_TRUE(same_bits(decoded.weight_update, original.weight_update));
      EXPECT_LE(iterate.ByteSizeLong(), max_message_bytes(message.shape));
    }
}

TEST(LinkWeightOnTheWire, IsRejectedForImpossibleVersionsFormsOrNumbers) {
  const WeightedMessage good(LinkWeightForm{LinkWeightShape::full});
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
  const WeightedMessage message(LinkWeightForm{LinkWeightShape::full});
  v1::Iterate older = message.iterate(), newer = message.iterate();
  newer.set_sequence(9);
  newer.mutable_weights()->clear_update();
  newer.mutable_weights()->set_sender_version(6);
  keep_updates(older, newer);
  EXPECT_FALSE(newer.weights().has_update());
  newer.mutable_weights()->set_sender_version(5);
  keep_updates(older, newer);
  EXPECT_FALSE(validate(newer.weights().update(), message.shape));
  v1::Iterate plain = iterate_of(1, {1}), next = iterate_of(2, {2});
  keep_updates(plain, next);
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

/// A heartbeat with these entries, not signed.
v1::Heartbeat heartbeat_of(const std::vector<v1::Member>& members) {
  v1::Heartbeat heartbeat;
  for (const v1::Member& member : members)
    heartbeat.add_members()->set_member(member.SerializeAsString());
  return heartbeat;
}

TEST(Heartbeat, NamesEachMemberOnceWithAPossiblePhase) {
  v1::Member member;
  const auto violation = [&] { return validate(heartbeat_of({member})); };
  EXPECT_EQ(reason_of(violation()), RejectReason::malformed);  // has no name
  member.set_name("peer-0");
  EXPECT_FALSE(violation());
  member.set_residual(std::nan(""));
  EXPECT_EQ(reason_of(violation()), RejectReason::not_finite);
  member.set_residual(std::numeric_limits<double>::infinity());
  EXPECT_FALSE(violation());  // before the first activation
  for (const double impossible : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    member.set_step_seconds(impossible);
    EXPECT_EQ(reason_of(violation()), RejectReason::not_finite) << impossible;
  }
  member.set_step_seconds(0.25);
  EXPECT_FALSE(violation());
  member.set_phase(static_cast<v1::Member::Phase>(9));
  EXPECT_EQ(reason_of(violation()), RejectReason::malformed);
  member.set_phase(v1::Member::LOCALLY_CONVERGED);
  EXPECT_EQ(reason_of(validate(heartbeat_of({member, member}))), RejectReason::malformed);
  v1::Heartbeat no_entry;
  no_entry.add_members()->set_member("\xff");
  EXPECT_EQ(reason_of(validate(no_entry)), RejectReason::malformed);
}

// A certificate is sent once a session; a heartbeat that nobody has read yet may contain it.
TEST(Heartbeat, KeepsTheCertificatesOfTheOneThatItReplaces) {
  v1::Member a, b;
  a.set_name("a");
  b.set_name("b");
  v1::Heartbeat older = heartbeat_of({a, b}), newer = heartbeat_of({b});
  older.mutable_members(0)->set_certificate("of a");
  older.mutable_members(1)->set_certificate("of b");
  keep_certificates(older, newer);
  EXPECT_EQ(newer.members(0).certificate(), "of b");
}

// The text names both peers, because both ends of a link read it.
TEST(Hello, ThatDiffersNamesTheOneSettingAndBothValues) {
  const auto detail_of = [](const Schema& theirs) {
    v1::Hello hello = good_hello();
    hello.clear_schema();
    set_schema(theirs, hello);
    const auto violation = validate(hello, expected_hello);
    return violation ? violation->detail : std::string();
  };
  EXPECT_EQ(detail_of({{"loss", "squared"}, own_schema[1]}),
            "loss is 'squared' at peer-0 and 'logistic' at peer-1");
  EXPECT_EQ(detail_of({own_schema[0], {"columns", columns_value({"age", "height"})}}),
            "column 2 is 'height' at peer-0 and 'bmi' at peer-1");
  EXPECT_EQ(detail_of({own_schema[0]}), "columns is 'none' at peer-0 and 'age?bmi' at peer-1");
  EXPECT_EQ(detail_of({own_schema[0], own_schema[1], {"labels", "0 and 1"}}),
            "labels is '0 and 1' at peer-0 and 'none' at peer-1");
}

TEST(Schema, ComparesTheWeightOfARowUpToTheRoundingOfConfigurations) {
  const auto differ = [](const char* a, const char* b) {
    return first_difference({{"scale-per-row", a}}, {{"scale-per-row", b}}).has_value();
  };
  EXPECT_FALSE(differ("0.0125", "0.012504"));
  EXPECT_TRUE(differ("0.0125", "12.5"));
}

TEST(PeerName, IsMadeOfValidDnsLabels) {
  for (const char* good : {"a", "peer-0", "0", "x9-y", "db-1.hospital.org"})
    EXPECT_TRUE(is_peer_name(good)) << good;
  for (const char* bad :
       {"", "-a", "a-", "Peer", "a..b", ".a", "a.", "a.-b", "*", "a b", "\xc3\xa9"})
    EXPECT_FALSE(is_peer_name(bad)) << bad;
  EXPECT_FALSE(is_peer_name(std::string(64, 'a')));
}

TEST(Envelope, WithInvalidUtf8IsRejectedWithoutOutput) {
  silence_protobuf();
  v1::Envelope envelope;
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(envelope.ParseFromString("\x0a\x04\x12\x02\xc3\x28"));  // in the network's name
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

// The body of the libFuzzer target, with random bytes and with damaged valid messages.
RC_GTEST_PROP(WireBytes, NeverBreakTheReceiverIfRandom, (const std::string& bytes)) {
  fuzz_wire(bytes);
}

RC_GTEST_PROP(WireBytes, NeverBreakTheReceiverIfADamagedMessage,
              (const std::vector<double>& values, std::uint32_t place, char damage)) {
  v1::Envelope envelope;
  *envelope.mutable_iterate() =
      encode(message_of(9, values), static_cast<Index>(values.size()), place % 2 == 0);
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
