#include "grove/agent/message_codec.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include <gtest/gtest.h>

namespace grove {
namespace {

void expect_equal(const Message& a, const Message& b) {
  EXPECT_EQ(a.sender, b.sender);
  EXPECT_EQ(a.sequence, b.sequence);
  EXPECT_EQ(a.hops, b.hops);
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_TRUE(std::ranges::equal(a.vector, b.vector));
  EXPECT_TRUE(std::ranges::equal(a.weight_update, b.weight_update));
}

const std::array<double, 3> vector{1.5, -2, 1e-300};
const std::array<float, 5> weight{1, 2, 3, 4, 5};

/// With and without every optional part, with odd and even numbers of floats.
std::vector<Message> examples() {
  const WeightPair pair{.sender = {.version = 7, .digest = 0xdeadbeef}, .receiver = {}};
  return {{.sender = AgentId{3}, .sequence = 1ull << 61, .vector = vector},
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
           .weight_update = std::span(weight).first(4)}};
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
  EXPECT_EQ(all[1].payload_bytes(), 0u);
  EXPECT_EQ(all[2].payload_bytes(), 8 + 3 * 8 + 5 * 4u);
  EXPECT_EQ(all[3].payload_bytes(), 8 + 24 + 4 * 4u);
}

}  // namespace
}  // namespace grove
