#include "grove/agent/message_codec.h"

#include <cassert>
#include <cstring>

namespace grove {
namespace {

struct Header {
  std::uint64_t sequence;
  std::uint32_t sender;
  std::uint32_t has_hops : 1, has_weights : 1;
  std::uint32_t vector_size;
  std::uint32_t weight_update_size;
};
static_assert(sizeof(Header) == 24);

/// A WeightPair without padding.
struct EncodedWeights {
  std::int64_t sender_version, receiver_version;
  std::uint32_t sender_digest, receiver_digest;
};
static_assert(sizeof(EncodedWeights) == 2 * Message::encoded_weight_id_bytes);

constexpr std::size_t word = sizeof(std::uint64_t);

std::size_t words_for(std::size_t bytes) { return (bytes + word - 1) / word; }

/// Words that a message with this header takes.
std::size_t encoded_words(const Header& header) {
  return words_for(sizeof(Header)) + (header.has_hops ? words_for(sizeof(HopCounts)) : 0) +
         (header.has_weights ? words_for(sizeof(EncodedWeights)) : 0) + header.vector_size +
         words_for(header.weight_update_size * sizeof(float));
}

}  // namespace

void MessageBuffer::append(const Message& message) {
  Header header{};
  header.sequence = message.sequence;
  header.sender = message.sender.value;
  header.has_hops = message.hops.has_value();
  header.has_weights = message.weights.has_value();
  header.vector_size = static_cast<std::uint32_t>(message.vector.size());
  header.weight_update_size = static_cast<std::uint32_t>(message.weight_update.size());
  const std::size_t begin = bytes_.size();
  bytes_.resize(begin + encoded_words(header));  // padding is zero
  Word* at = bytes_.data() + begin;
  const auto put = [&at](const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(at, from, bytes);
    at += words_for(bytes);
  };
  put(&header, sizeof(header));
  if (message.hops) put(&*message.hops, sizeof(HopCounts));
  if (message.weights) {
    const auto& [sender, receiver] = *message.weights;
    const EncodedWeights weights{sender.version, receiver.version, sender.digest, receiver.digest};
    put(&weights, sizeof(weights));
  }
  put(message.vector.data(), message.vector.size_bytes());
  put(message.weight_update.data(), message.weight_update.size_bytes());
}

void* MessageBuffer::receive_into(std::size_t bytes) {
  assert(bytes % word == 0);
  bytes_.resize(bytes / word);
  return bytes_.data();
}

std::optional<Message> MessageBuffer::Reader::next() {
  Header header{};
  if (rest_.size() < words_for(sizeof(header))) return std::nullopt;
  std::memcpy(&header, rest_.data(), sizeof(header));
  const std::size_t size = encoded_words(header);
  if (rest_.size() < size) return std::nullopt;
  const std::uint64_t* at = rest_.data() + words_for(sizeof(header));
  rest_ = rest_.subspan(size);
  Message message{.sender = AgentId{header.sender}, .sequence = header.sequence};
  if (header.has_hops) {
    std::memcpy(&message.hops.emplace(), at, sizeof(HopCounts));
    at += words_for(sizeof(HopCounts));
  }
  if (header.has_weights) {
    EncodedWeights weights{};
    std::memcpy(&weights, at, sizeof(weights));
    message.weights = {.sender = {weights.sender_version, weights.sender_digest},
                       .receiver = {weights.receiver_version, weights.receiver_digest}};
    at += words_for(sizeof(weights));
  }
  message.vector = {reinterpret_cast<const double*>(at), header.vector_size};
  at += header.vector_size;
  message.weight_update = {reinterpret_cast<const float*>(at), header.weight_update_size};
  return message;
}

}  // namespace grove
