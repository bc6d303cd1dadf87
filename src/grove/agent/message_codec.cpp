#include "grove/agent/message_codec.h"

#include <cassert>
#include <cstring>

namespace grove {
namespace {

struct Header {
  std::uint64_t sequence;
  std::uint32_t sender;
  std::uint32_t has_hops : 1, has_weights : 1, has_tree : 1, has_sparse : 1;
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

/// The fixed part of TreeFields, with the lengths of its spans.
struct EncodedTree {
  std::uint64_t table_digest, wave_known, sum_held;
  std::uint64_t wave_id, wave_tree;
  std::uint64_t sum_wave, sum_members;
  std::uint32_t wave_root, sum_count;
  std::uint32_t table_size, wave_size, support_size, sum_size, matrix_size, words_size;
  std::uint32_t has_wave : 1, has_sum : 1, wants_matrix : 1, wants_sum : 1, kind : 8,
      coarseness : 8;
};

/// SparseFields with the lengths of its spans.
struct EncodedSparse {
  std::int64_t update_version;
  std::uint32_t update_digest;
  std::uint32_t indices_size, codes_size, support_size;
};

constexpr std::size_t word = sizeof(std::uint64_t);

std::size_t words_for(std::size_t bytes) { return (bytes + word - 1) / word; }

/// Words that a message with this header takes, but for its tree fields.
std::size_t encoded_words(const Header& header) {
  return words_for(sizeof(Header)) + (header.has_hops ? words_for(sizeof(HopCounts)) : 0) +
         (header.has_weights ? words_for(sizeof(EncodedWeights)) : 0) + header.vector_size +
         words_for(header.weight_update_size * sizeof(float));
}

std::size_t encoded_words(const EncodedTree& tree) {
  return words_for(sizeof(EncodedTree)) + words_for(tree.table_size * sizeof(std::uint32_t)) +
         tree.wave_size + words_for(tree.support_size * sizeof(std::uint32_t)) + tree.sum_size +
         words_for(tree.matrix_size * sizeof(float)) + tree.words_size;
}

std::size_t encoded_words(const EncodedSparse& sparse) {
  return words_for(sizeof(EncodedSparse)) + words_for(sparse.indices_size * sizeof(std::uint32_t)) +
         words_for(sparse.codes_size) + words_for(sparse.support_size * sizeof(std::uint32_t));
}

std::uint32_t size_of(const auto& numbers) { return static_cast<std::uint32_t>(numbers.size()); }

EncodedTree encoded(const TreeFields& fields) {
  EncodedTree tree{};
  tree.table_digest = fields.table_digest;
  tree.wave_known = fields.wave_known.value;
  tree.sum_held = fields.sum_held.value;
  tree.table_size = size_of(fields.table);
  if (fields.wave) {
    const WaveItem& wave = *fields.wave;
    tree.has_wave = 1;
    tree.wave_id = wave.id.value;
    tree.wave_tree = wave.tree;
    tree.wave_root = wave.root.value;
    tree.kind = wave.kind;
    tree.coarseness = wave.coarseness;
    tree.wants_matrix = wave.wants_matrix;
    tree.wants_sum = wave.wants_sum;
    tree.wave_size = size_of(wave.numbers);
    tree.support_size = size_of(wave.support);
  }
  if (fields.sum) {
    tree.has_sum = 1;
    tree.sum_wave = fields.sum->wave.value;
    tree.sum_members = fields.sum->members;
    tree.sum_count = fields.sum->count;
    tree.sum_size = size_of(fields.sum->numbers);
    tree.matrix_size = size_of(fields.sum->matrix);
    tree.words_size = size_of(fields.sum->words);
  }
  return tree;
}

/// Reads spans of numbers that begin at word boundaries.
struct SpanReader {
  const std::uint64_t* at;

  template <class Number>
  std::span<const Number> take(std::size_t size) {
    const std::span<const Number> numbers(reinterpret_cast<const Number*>(at), size);
    at += words_for(numbers.size_bytes());
    return numbers;
  }
};

EncodedSparse encoded(const SparseFields& fields) {
  return {fields.update.version, fields.update.digest, size_of(fields.indices),
          size_of(fields.codes), size_of(fields.support)};
}

SparseFields decoded(const EncodedSparse& sparse, SpanReader spans) {
  const auto indices = spans.take<std::uint32_t>(sparse.indices_size);
  const auto codes = spans.take<std::uint8_t>(sparse.codes_size);
  return {.indices = indices,
          .codes = codes,
          .support = spans.take<std::uint32_t>(sparse.support_size),
          .update = {sparse.update_version, sparse.update_digest}};
}

TreeFields decoded(const EncodedTree& tree, SpanReader spans) {
  TreeFields fields{.table_digest = tree.table_digest,
                    .wave_known = {tree.wave_known},
                    .sum_held = {tree.sum_held},
                    .table = spans.take<std::uint32_t>(tree.table_size),
                    .wave = {},
                    .sum = {}};
  const auto wave_numbers = spans.take<double>(tree.wave_size);
  const auto support = spans.take<std::uint32_t>(tree.support_size);
  const auto sum_numbers = spans.take<double>(tree.sum_size);
  const auto matrix = spans.take<float>(tree.matrix_size);
  const auto words = spans.take<std::uint64_t>(tree.words_size);
  if (tree.has_wave)
    fields.wave = WaveItem{.id = {tree.wave_id},
                           .tree = tree.wave_tree,
                           .root = AgentId{tree.wave_root},
                           .kind = static_cast<std::uint8_t>(tree.kind),
                           .coarseness = static_cast<std::uint8_t>(tree.coarseness),
                           .wants_matrix = tree.wants_matrix != 0,
                           .wants_sum = tree.wants_sum != 0,
                           .numbers = wave_numbers,
                           .support = support};
  if (tree.has_sum)
    fields.sum = SumItem{.wave = {tree.sum_wave},
                         .members = tree.sum_members,
                         .count = tree.sum_count,
                         .numbers = sum_numbers,
                         .matrix = matrix,
                         .words = words};
  return fields;
}

}  // namespace

void MessageBuffer::append(const Message& message) {
  Header header{};
  header.sequence = message.sequence;
  header.sender = message.sender.value;
  header.has_hops = message.hops.has_value();
  header.has_weights = message.weights.has_value();
  header.has_tree = message.tree.has_value();
  header.has_sparse = message.sparse.has_value();
  header.vector_size = static_cast<std::uint32_t>(message.vector.size());
  header.weight_update_size = static_cast<std::uint32_t>(message.weight_update.size());
  const EncodedTree tree = message.tree ? encoded(*message.tree) : EncodedTree{};
  const EncodedSparse sparse = message.sparse ? encoded(*message.sparse) : EncodedSparse{};
  const std::size_t begin = bytes_.size();
  bytes_.resize(begin + encoded_words(header) + (message.sparse ? encoded_words(sparse) : 0) +
                (message.tree ? encoded_words(tree) : 0));  // padding is zero
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
  const auto put_span = [&put](const auto& span) { put(span.data(), span.size_bytes()); };
  if (message.sparse) {
    put(&sparse, sizeof(sparse));
    put_span(message.sparse->indices);
    put_span(message.sparse->codes);
    put_span(message.sparse->support);
  }
  if (!message.tree) return;
  put(&tree, sizeof(tree));
  put_span(message.tree->table);
  if (message.tree->wave) {
    put_span(message.tree->wave->numbers);
    put_span(message.tree->wave->support);
  }
  if (message.tree->sum) {
    put_span(message.tree->sum->numbers);
    put_span(message.tree->sum->matrix);
    put_span(message.tree->sum->words);
  }
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
  EncodedSparse sparse{};
  const std::span<const std::uint64_t> sparse_words = rest_;
  if (header.has_sparse) {
    if (rest_.size() < words_for(sizeof(sparse))) return std::nullopt;
    std::memcpy(&sparse, rest_.data(), sizeof(sparse));
    if (rest_.size() < encoded_words(sparse)) return std::nullopt;
    rest_ = rest_.subspan(encoded_words(sparse));
  }
  EncodedTree tree{};
  const std::span<const std::uint64_t> tree_words = rest_;
  if (header.has_tree) {
    if (rest_.size() < words_for(sizeof(tree))) return std::nullopt;
    std::memcpy(&tree, rest_.data(), sizeof(tree));
    if (rest_.size() < encoded_words(tree)) return std::nullopt;
    rest_ = rest_.subspan(encoded_words(tree));
  }
  Message message{.sender = AgentId{header.sender}, .sequence = header.sequence};
  if (header.has_hops) {
    std::memcpy(static_cast<void*>(&message.hops.emplace()), at, sizeof(HopCounts));
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
  if (header.has_sparse)
    message.sparse = decoded(sparse, {sparse_words.data() + words_for(sizeof(sparse))});
  if (header.has_tree) message.tree = decoded(tree, {tree_words.data() + words_for(sizeof(tree))});
  return message;
}

}  // namespace grove
