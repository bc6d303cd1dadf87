#include "grove/agent/message_codec.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include <gtest/gtest.h>

namespace grove {
namespace {

void expect_equal(const TreeFields& a, const TreeFields& b) {
  EXPECT_EQ(a.table_digest, b.table_digest);
  EXPECT_EQ(a.wave_known, b.wave_known);
  EXPECT_EQ(a.sum_held, b.sum_held);
  EXPECT_TRUE(std::ranges::equal(a.table, b.table));
  ASSERT_EQ(a.wave.has_value(), b.wave.has_value());
  if (a.wave) {
    EXPECT_EQ(a.wave->id, b.wave->id);
    EXPECT_EQ(a.wave->tree, b.wave->tree);
    EXPECT_EQ(a.wave->root, b.wave->root);
    EXPECT_EQ(a.wave->kind, b.wave->kind);
    EXPECT_EQ(a.wave->wants_matrix, b.wave->wants_matrix);
    EXPECT_EQ(a.wave->wants_sum, b.wave->wants_sum);
    EXPECT_TRUE(std::ranges::equal(a.wave->numbers, b.wave->numbers));
    EXPECT_TRUE(std::ranges::equal(a.wave->support, b.wave->support));
  }
  ASSERT_EQ(a.sum.has_value(), b.sum.has_value());
  if (!a.sum) return;
  EXPECT_EQ(a.sum->wave, b.sum->wave);
  EXPECT_EQ(a.sum->members, b.sum->members);
  EXPECT_EQ(a.sum->count, b.sum->count);
  EXPECT_TRUE(std::ranges::equal(a.sum->numbers, b.sum->numbers));
  EXPECT_TRUE(std::ranges::equal(a.sum->matrix, b.sum->matrix));
}

void expect_equal(const Message& a, const Message& b) {
  EXPECT_EQ(a.sender, b.sender);
  EXPECT_EQ(a.sequence, b.sequence);
  EXPECT_EQ(a.hops, b.hops);
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_TRUE(std::ranges::equal(a.vector, b.vector));
  EXPECT_TRUE(std::ranges::equal(a.weight_update, b.weight_update));
  ASSERT_EQ(a.sparse.has_value(), b.sparse.has_value());
  if (a.sparse) {
    EXPECT_TRUE(std::ranges::equal(a.sparse->indices, b.sparse->indices));
    EXPECT_TRUE(std::ranges::equal(a.sparse->codes, b.sparse->codes));
    EXPECT_TRUE(std::ranges::equal(a.sparse->support, b.sparse->support));
    EXPECT_EQ(a.sparse->update, b.sparse->update);
  }
  ASSERT_EQ(a.tree.has_value(), b.tree.has_value());
  if (a.tree) expect_equal(*a.tree, *b.tree);
}

const std::array<double, 3> vector{1.5, -2, 1e-300};
const std::array<float, 5> weight{1, 2, 3, 4, 5};
const std::array<std::uint32_t, 3> words{7, 0, 0xffffffff};

const std::array<std::uint8_t, 5> codes{0, 1, 255, 3, 9};

SparseFields sparse_fields() {
  return {.indices = words,
          .codes = codes,
          .support = std::span(words).first(1),
          .update = {.version = 1ll << 60, .digest = 0xfeedbeef}};
}

TreeFields tree_fields() {
  TreeFields fields{.table_digest = ~std::uint64_t{0},
                    .wave_known = WaveId::of(9, 12345),
                    .sum_held = WaveId::of(8, 1),
                    .table = words,
                    .wave = {},
                    .sum = {}};
  fields.wave = WaveItem{.id = WaveId::of(10, 3),
                         .tree = 17,
                         .root = AgentId{5},
                         .kind = 200,
                         .wants_matrix = true,
                         .wants_sum = false,
                         .numbers = vector,
                         .support = std::span(words).first(1)};
  fields.sum = SumItem{.wave = WaveId::of(9, 4),
                       .members = 1ull << 63,
                       .count = 3,
                       .numbers = std::span(vector).first(2),
                       .matrix = std::span(weight).first(3)};
  return fields;
}

/// With and without every optional part, with odd and even numbers of floats.
std::vector<Message> examples() {
  const WeightPair pair{.sender = {.version = 7, .digest = 0xdeadbeef}, .receiver = {}};
  return {{.sender = AgentId{3}, .sequence = 1ull << 61, .vector = vector},
          {.sender = AgentId{4},
           .sequence = 5,
           .weights = pair,
           .vector = vector,
           .weight_update = weight,
           .sparse = sparse_fields()},
          {.sender = AgentId{4}, .sequence = 6, .sparse = SparseFields{}},
          {.sender = AgentId{4}, .sequence = 7, .tree = tree_fields(), .sparse = sparse_fields()},
          {.sender = AgentId{0}, .sequence = 1},
          {.sender = AgentId{9},
           .sequence = 2,
           .hops = HopCounts{2, 5},
           .vector = vector,
           .weight_update = weight},
          {.sender = AgentId{1},
           .sequence = 4,
           .hops = HopCounts{},
           .weights = pair,
           .weight_update = std::span(weight).first(4)},
          {.sender = AgentId{4}, .sequence = 5, .tree = TreeFields{}},
          {.sender = AgentId{4}, .sequence = 6, .tree = tree_fields()}};
}

TEST(MessageBuffer, GivesBackEveryFieldOfEveryMessageInOrder) {
  MessageBuffer sent;
  for (const Message& message : examples()) sent.append(message);
  MessageBuffer received;
  std::memcpy(received.receive_into(sent.size()), sent.data(), sent.size());
  MessageBuffer::Reader reader(received);
  for (const Message& message : examples()) {
    const auto read = reader.next();
    ASSERT_TRUE(read);
    expect_equal(*read, message);
  }
  EXPECT_TRUE(reader.finished());
  EXPECT_FALSE(reader.next());
}

TEST(MessageBuffer, DoesNotReadBeyondBytesThatWereCutOff) {
  for (const Message& message : examples()) {
    MessageBuffer sent;
    sent.append(message);
    for (std::size_t size = 0; size < sent.size(); size += 8) {
      MessageBuffer received;
      std::copy_n(static_cast<const std::byte*>(sent.data()), size,
                  static_cast<std::byte*>(received.receive_into(size)));
      EXPECT_FALSE(MessageBuffer::Reader(received).next()) << size;
    }
  }
}

TEST(StoredMessage, OutlivesTheSendersNumbers) {
  std::vector<double> numbers{1, 2, 3};
  const StoredMessage stored({.sender = AgentId{2}, .sequence = 5, .vector = numbers});
  const StoredMessage copy = stored;
  numbers.assign(3, 0);
  EXPECT_EQ(copy.view().vector[2], 3);
  EXPECT_EQ(copy.view().sender, AgentId{2});
}

TEST(Message, IsChargedForAllItsFieldsButSenderAndSequence) {
  const auto all = examples();
  EXPECT_EQ(all[0].payload_bytes(), 3 * 8u);
  // Three indices, five codes, one coordinate of a support, an id of 12 bytes.
  constexpr std::size_t sparse = 3 * 4 + 5 + 4 + 12;
  EXPECT_EQ(all[1].payload_bytes(), 24 + 3 * 8 + 5 * 4u + sparse);
  EXPECT_EQ(all[2].payload_bytes(), 0u);
  // Header, table; wave with three numbers and one coordinate; sum with two numbers and three.
  constexpr std::size_t tree = 24 + 3 * 4 + (24 + 3 * 8 + 4) + (20 + 2 * 8 + 3 * 4);
  EXPECT_EQ(all[3].payload_bytes(), tree + sparse);
  EXPECT_EQ(all[4].payload_bytes(), 0u);
  EXPECT_EQ(all[5].payload_bytes(), 8 + 3 * 8 + 5 * 4u);
  EXPECT_EQ(all[6].payload_bytes(), 8 + 24 + 4 * 4u);
  EXPECT_EQ(all[7].payload_bytes(), 24u);
  EXPECT_EQ(all[8].payload_bytes(), tree);
}

TEST(StoredMessage, KeepsEveryFieldOfEveryMessage) {
  for (const Message& message : examples()) expect_equal(StoredMessage(message).view(), message);
}

TEST(WaveId, IsOrderedByNumberFirst) {
  EXPECT_LT(WaveId::of(3, ~0ull), WaveId::of(4, 0));
  EXPECT_LT(WaveId::of(3, 1), WaveId::of(3, 2));
  EXPECT_EQ(WaveId::of(70000, 9).number(), 70000u);
}

}  // namespace
}  // namespace grove
