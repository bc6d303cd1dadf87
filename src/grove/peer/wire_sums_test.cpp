#include "grove/peer/wire_sums.h"

#include <limits>

#include <gtest/gtest.h>

#include "grove/sums/link_state.h"

namespace grove::peer {
namespace {

/// The message of a peer that has all items, in two dimensions.
struct FullMessage {
  FullMessage() {
    append_entry(AgentId{7}, {.version = 3, .data = 5, .live = {AgentId{9}}, .silent = {}}, table);
    fields = {.table_digest = 11,
              .wave_known = WaveId::of(4, 77),
              .sum_held = WaveId::of(3, 5),
              .table = table,
              .wave = WaveItem{.id = WaveId::of(4, 77),
                               .tree = 13,
                               .root = AgentId{7},
                               .kind = 2,
                               .wants_matrix = true,
                               .wants_sum = true,
                               .numbers = numbers,
                               .support = support},
              .sum = SumItem{.wave = WaveId::of(4, 77),
                             .members = 17,
                             .count = 2,
                             .numbers = numbers,
                             .matrix = matrix}};
  }
  v1::Iterate iterate(std::uint64_t sequence = 8) const {
    Message message{.sender = {}, .sequence = sequence};
    message.tree = fields;
    return encode(message, shape(), false);
  }
  static LinkShape shape() {
    LinkShape shape(2);
    shape.vectors = false;
    shape.sums = true;
    return shape;
  }
  std::optional<Violation> violation_of(const v1::Iterate& iterate) const {
    return validate(iterate, {.shape = shape(), .last_sequence = 7});
  }

  std::vector<std::uint32_t> table, support{1};
  std::vector<double> numbers{1.0 / 3, -2e-30};
  std::vector<float> matrix{1, 2, 3};
  TreeFields fields;
};

RejectReason reason_of(const std::optional<Violation>& violation) {
  EXPECT_TRUE(violation.has_value());
  return violation ? violation->reason : RejectReason::stale_sequence;
}

TEST(SumsOnTheWire, ArriveAsTheyWereSent) {
  const FullMessage sent;
  v1::Iterate iterate;
  ASSERT_TRUE(iterate.ParseFromString(sent.iterate().SerializeAsString()));
  EXPECT_FALSE(sent.violation_of(iterate));
  std::vector<double> buffer;
  const Message message = decode(iterate, FullMessage::shape(), buffer);
  ASSERT_TRUE(message.tree && message.tree->wave && message.tree->sum);
  const TreeFields& got = *message.tree;
  EXPECT_EQ(got.table_digest, 11u);
  EXPECT_EQ(got.wave_known, sent.fields.wave_known);
  EXPECT_EQ(got.sum_held, sent.fields.sum_held);
  EXPECT_TRUE(std::ranges::equal(got.table, sent.table));
  EXPECT_EQ(got.wave->id, sent.fields.wave->id);
  EXPECT_EQ(got.wave->tree, 13u);
  EXPECT_EQ(got.wave->root, AgentId{7});
  EXPECT_EQ(got.wave->kind, 2);
  EXPECT_TRUE(got.wave->wants_matrix && got.wave->wants_sum);
  EXPECT_TRUE(std::ranges::equal(got.wave->numbers, sent.numbers));
  EXPECT_TRUE(std::ranges::equal(got.wave->support, sent.support));
  EXPECT_EQ(got.sum->members, 17u);
  EXPECT_EQ(got.sum->count, 2u);
  EXPECT_TRUE(std::ranges::equal(got.sum->numbers, sent.numbers));
  EXPECT_TRUE(std::ranges::equal(got.sum->matrix, sent.matrix));
}

TEST(SumsOnTheWire, AreExpectedWhereTheNetworkSumsAndNowhereElse) {
  const FullMessage sent;
  v1::Iterate without = sent.iterate();
  without.clear_sums();
  EXPECT_EQ(reason_of(sent.violation_of(without)), RejectReason::malformed);
  v1::Iterate with_vector = sent.iterate();
  with_vector.add_vector(1);
  with_vector.add_vector(2);
  EXPECT_EQ(reason_of(sent.violation_of(with_vector)), RejectReason::wrong_dimension);
  with_vector.mutable_sums();
  EXPECT_EQ(reason_of(validate(with_vector, {.shape = 2, .last_sequence = 7})),
            RejectReason::malformed);
}

// Each is a message of a neighbour that is damaged or hostile.
TEST(SumsOnTheWire, AreRejectedForSizesNumbersAndIds) {
  const FullMessage sent;
  const auto expect = [&](RejectReason reason, const auto& damage) {
    v1::Iterate iterate = sent.iterate();
    damage(*iterate.mutable_sums());
    EXPECT_EQ(reason_of(sent.violation_of(iterate)), reason);
  };
  const double infinity = std::numeric_limits<double>::infinity();
  using enum RejectReason;
  expect(malformed, [](v1::Sums& sums) { sums.add_table(1); });
  expect(malformed, [](v1::Sums& sums) { sums.mutable_table()->Set(3, ~0u); });
  expect(wrong_dimension, [](v1::Sums& sums) {
    for (int k = 0; k < 100; ++k) sums.mutable_wave()->add_numbers(1);
  });
  expect(wrong_dimension, [](v1::Sums& sums) {
    for (int k = 0; k < 3; ++k) sums.mutable_wave()->add_support(1);
  });
  expect(wrong_dimension, [](v1::Sums& sums) {
    for (int k = 0; k < 100; ++k) sums.mutable_sum()->add_numbers(1);
  });
  expect(wrong_dimension, [](v1::Sums& sums) { sums.mutable_sum()->add_matrix(1); });
  expect(not_finite, [&](v1::Sums& sums) { sums.mutable_wave()->set_numbers(0, infinity); });
  expect(not_finite, [&](v1::Sums& sums) { sums.mutable_wave()->set_numbers(0, 1e101); });
  expect(not_finite, [&](v1::Sums& sums) { sums.mutable_sum()->set_numbers(1, -infinity); });
  expect(not_finite, [](v1::Sums& sums) { sums.mutable_sum()->set_matrix(1, NAN); });
  expect(malformed, [](v1::Sums& sums) { sums.mutable_wave()->set_id(0); });
  expect(malformed, [](v1::Sums& sums) { sums.mutable_wave()->set_tree(0); });
  expect(malformed, [](v1::Sums& sums) { sums.mutable_wave()->set_kind(256); });
  expect(malformed, [](v1::Sums& sums) { sums.mutable_sum()->set_count(0); });
  // The numbers of waves would be used up.
  expect(absurd_sequence, [](v1::Sums& sums) { sums.set_wave_known(~std::uint64_t{0}); });
  expect(absurd_sequence, [](v1::Sums& sums) { sums.mutable_wave()->set_id(~std::uint64_t{0}); });
}

// A message that was not sent yet is replaced by a newer one, which lacks what its sender does not
// soon repeat.
TEST(SumsOnTheWire, PassTheirItemsOnToTheMessageThatReplacesThem) {
  const FullMessage sent;
  v1::Iterate older = sent.iterate(8), newer = sent.iterate(9);
  newer.mutable_sums()->clear_wave();
  newer.mutable_sums()->clear_table();
  newer.mutable_sums()->mutable_sum()->set_count(3);
  std::vector<std::uint32_t> entry;
  append_entry(AgentId{7}, {.version = 4, .live = {}, .silent = {}}, entry);
  newer.mutable_sums()->mutable_table()->Add(entry.begin(), entry.end());
  keep_updates(older, newer);
  EXPECT_FALSE(sent.violation_of(newer));
  EXPECT_EQ(newer.sums().wave().id(), sent.fields.wave->id.value);
  EXPECT_EQ(newer.sums().sum().count(), 3u);  // its own
  EXPECT_EQ(static_cast<std::size_t>(newer.sums().table_size()), sent.table.size() + entry.size());
  const auto table = read_entries({newer.sums().table().data(), sent.table.size() + entry.size()});
  ASSERT_TRUE(table);
  EXPECT_EQ(table->at(AgentId{7}).version, 4u);  // the newer entry wins
}

TEST(SumsOnTheWire, FitIntoTheLimitOfMessages) {
  for (const Index d : {1, 22, 300}) {
    LinkShape shape(d);
    shape.vectors = false;
    shape.sums = true;
    const auto triangle = static_cast<std::size_t>(d * (d + 1) / 2);
    const std::vector<double> question(static_cast<std::size_t>(2 * d), 1.0);
    const std::vector<double> sum(static_cast<std::size_t>(d) + 16 + triangle, 1.0);
    Message message{.sender = {}, .sequence = 1};
    message.tree = TreeFields{.table = {},
                              .wave = WaveItem{.id = {1}, .tree = 1, .numbers = question},
                              .sum = SumItem{.wave = {1}, .count = 1, .numbers = sum}};
    const v1::Iterate iterate = encode(message, shape, false);
    EXPECT_FALSE(validate(iterate, {.shape = shape}));
    EXPECT_LT(iterate.ByteSizeLong(), max_sums_bytes(shape));
  }
}

// Where sums are masked, no number of one site may be sent in the open, and the other way round.
TEST(SumsOnTheWire, AreMaskedOrOpenAsAgreed) {
  const FullMessage open;
  LinkShape masked = FullMessage::shape();
  masked.masked = true;
  const auto violation_of = [&](const v1::Iterate& iterate) {
    return validate(iterate, {.shape = masked, .last_sequence = 7});
  };
  EXPECT_EQ(reason_of(violation_of(open.iterate())), RejectReason::wrong_dimension);
  v1::Iterate words = open.iterate();
  words.mutable_sums()->mutable_sum()->clear_numbers();
  words.mutable_sums()->mutable_sum()->clear_matrix();
  words.mutable_sums()->mutable_sum()->add_words(~std::uint64_t{0});
  EXPECT_FALSE(violation_of(words));
  EXPECT_EQ(reason_of(open.violation_of(words)), RejectReason::wrong_dimension);
  words.mutable_sums()->mutable_wave()->set_coarseness(200);
  EXPECT_EQ(reason_of(violation_of(words)), RejectReason::malformed);
}

}  // namespace
}  // namespace grove::peer
