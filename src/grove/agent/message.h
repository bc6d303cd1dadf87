#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "grove/base/types.h"

namespace grove {

/// Distances in hops from the root of the network, as far as the sender knows them.
struct HopCounts {
  static constexpr float unknown = -1;

  float from_root = unknown;  ///< of the sender
  float depth = 0;            ///< the largest distance of any agent

  bool operator==(const HopCounts&) const = default;
};

/// Identifies one of the link weights that an agent publishes in the course of a run.
struct WeightId {
  static constexpr std::int64_t none = -1;

  std::int64_t version = none;  ///< grows with every weight that the agent publishes
  /// Of the weight's numbers. A process that lost its state may use a version again, for another
  /// weight; digests distinguish the two.
  std::uint32_t digest = 0;

  bool known() const { return version != none; }
  bool operator==(const WeightId&) const = default;
};

/// The two weights that make up the weight of a link, as the sender of a message knows them.
struct WeightPair {
  WeightId sender, receiver;

  bool operator==(const WeightPair&) const = default;
};

/// Identifies a wave of the sum service: one question to all members of a tree. Waves are numbered,
/// and a hash of the question distinguishes two of one number. Larger ids are newer.
struct WaveId {
  static constexpr int hash_bits = 40;

  std::uint64_t value = 0;  ///< the number, then the hash in the lower 40 bits; 0: no wave

  static WaveId of(std::uint64_t number, std::uint64_t hash) {
    return {number << hash_bits | (hash & ((std::uint64_t{1} << hash_bits) - 1))};
  }
  std::uint64_t number() const { return value >> hash_bits; }
  bool known() const { return value != 0; }
  auto operator<=>(const WaveId&) const = default;
};

/// One question of the sum service, on its way through a tree.
struct WaveItem {
  WaveId id;
  std::uint64_t tree = 0;       ///< identifies the tree that the answers are summed over
  AgentId root;                 ///< who asks
  std::uint8_t kind = 0;        ///< meaning of the numbers: the method's own
  std::uint8_t coarseness = 0;  ///< of fixed-point answers (sums/fixed_point.h)
  bool wants_matrix = false;    ///< answers have a matrix beside their numbers
  bool wants_sum = true;        ///< false: an announcement that nobody answers
  std::span<const double> numbers;
  std::span<const std::uint32_t> support;  ///< coordinates of the matrix; none: all of them
};

/// The sum of the answers of a subtree.
struct SumItem {
  WaveId wave;
  std::uint64_t members = 0;  ///< sum of the hashes of the members that were counted
  std::uint32_t count = 0;    ///< how many they are
  std::span<const double> numbers;
  std::span<const float> matrix;
  std::span<const std::uint64_t> words;  ///< in place of both, where answers are masked
};

/// What the sum service adds to a message (docs/reference/tree-newton.md). The ids acknowledge what
/// the sender has received; table, wave and sum are there when the receiver may need them.
struct TreeFields {
  std::uint64_t table_digest = 0;        ///< of the sender's table of links
  WaveId wave_known;                     ///< the newest wave that the sender knows
  WaveId sum_held;                       ///< of the newest sum that it has from the receiver
  std::span<const std::uint32_t> table;  ///< link-state entries (sums/link_state.h)
  std::optional<WaveItem> wave;
  std::optional<SumItem> sum;

  static constexpr std::size_t header_bytes = 24, wave_bytes = 24, sum_bytes = 20;

  /// Of the numbers that methods exchange.
  std::size_t number_bytes() const {
    return (wave ? wave->numbers.size_bytes() : 0) +
           (sum ? sum->numbers.size_bytes() + sum->matrix.size_bytes() + sum->words.size_bytes()
                : 0);
  }
  std::size_t payload_bytes() const {
    return header_bytes + table.size_bytes() + number_bytes() +
           (wave ? wave_bytes + wave->support.size_bytes() : 0) + (sum ? sum_bytes : 0);
  }
};

/// What a message has besides where most coordinates are zero: absent means zero.
struct SparseFields {
  std::span<const std::uint32_t> indices;  ///< of the vector's numbers, ascending
  // Of the weight update (coupling/sparse_weight.h):
  std::span<const std::uint8_t> codes;
  std::span<const std::uint32_t> support;
  WeightId update;  ///< the vector may have been computed with an earlier weight

  std::size_t payload_bytes() const {
    return indices.size_bytes() + codes.size_bytes() + support.size_bytes() +
           (update.known() ? sizeof(update.version) + sizeof(update.digest) : 0);
  }
};

/// What an agent sends to one neighbour after an activation. The spans are borrowed from the
/// sender and valid until its next activation; a runtime that keeps a message longer copies it.
struct Message {
  AgentId sender;
  std::uint64_t sequence = 0;            ///< grows with every activation of the sender
  std::optional<HopCounts> hops;         ///< of methods that estimate the depth of the network
  std::optional<WeightPair> weights;     ///< the vector was computed with these; edge coupling only
  std::span<const double> vector;        ///< d numbers; none while the receiver's weight is unknown
  std::span<const float> weight_update;  ///< the sender's new link weight; none if unchanged
  std::optional<TreeFields> tree;        ///< of methods that sum over a tree
  std::optional<SparseFields> sparse;    ///< of sparse link weights

  /// Bytes of all fields but sender and sequence: what a method is charged for.
  std::size_t payload_bytes() const {
    return (hops ? sizeof(HopCounts) : 0) + (weights ? 2 * encoded_weight_id_bytes : 0) +
           vector.size_bytes() + weight_update.size_bytes() + (tree ? tree->payload_bytes() : 0) +
           (sparse ? sparse->payload_bytes() : 0);
  }

  static constexpr std::size_t encoded_weight_id_bytes = 12;
};

/// A message that outlives its sender's next activation.
class StoredMessage {
 public:
  explicit StoredMessage(const Message& message)
      : message_(message),
        vector_(copy(message.vector)),
        weight_update_(copy(message.weight_update)) {
    if (message.sparse) {
      indices_ = copy(message.sparse->indices);
      codes_ = copy(message.sparse->codes);
      weight_support_ = copy(message.sparse->support);
    }
    if (!message.tree) return;
    const TreeFields& tree = *message.tree;
    table_ = copy(tree.table);
    if (tree.wave) {
      wave_numbers_ = copy(tree.wave->numbers);
      support_ = copy(tree.wave->support);
    }
    if (tree.sum) {
      sum_numbers_ = copy(tree.sum->numbers);
      matrix_ = copy(tree.sum->matrix);
      words_ = copy(tree.sum->words);
    }
  }

  Message view() const {
    Message message = message_;
    message.vector = vector_;
    message.weight_update = weight_update_;
    if (message.sparse)
      message.sparse = {.indices = indices_,
                        .codes = codes_,
                        .support = weight_support_,
                        .update = message_.sparse->update};
    if (!message.tree) return message;
    TreeFields& tree = *message.tree;
    tree.table = table_;
    if (tree.wave) {
      tree.wave->numbers = wave_numbers_;
      tree.wave->support = support_;
    }
    if (tree.sum) {
      tree.sum->numbers = sum_numbers_;
      tree.sum->matrix = matrix_;
      tree.sum->words = words_;
    }
    return message;
  }

 private:
  template <class Number>
  static std::vector<Number> copy(std::span<const Number> numbers) {
    return {numbers.begin(), numbers.end()};
  }

  Message message_;  ///< its spans are replaced by the copies below
  std::vector<double> vector_;
  std::vector<float> weight_update_;
  std::vector<std::uint32_t> indices_, weight_support_;
  std::vector<std::uint8_t> codes_;
  std::vector<std::uint32_t> table_, support_;
  std::vector<double> wave_numbers_, sum_numbers_;
  std::vector<float> matrix_;
  std::vector<std::uint64_t> words_;
};

}  // namespace grove
