#pragma once

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

/// What an agent sends to one neighbour after an activation. The spans are borrowed from the
/// sender and valid until its next activation; a runtime that keeps a message longer copies it.
struct Message {
  AgentId sender;
  std::uint64_t sequence = 0;            ///< grows with every activation of the sender
  std::optional<HopCounts> hops;         ///< of methods that estimate the depth of the network
  std::optional<WeightPair> weights;     ///< the vector was computed with these; edge coupling only
  std::span<const double> vector;        ///< d numbers; none while the receiver's weight is unknown
  std::span<const float> weight_update;  ///< the sender's new link weight; none if unchanged

  /// Bytes of all fields but sender and sequence: what a method is charged for.
  std::size_t payload_bytes() const {
    return (hops ? sizeof(HopCounts) : 0) + (weights ? 2 * encoded_weight_id_bytes : 0) +
           vector.size_bytes() + weight_update.size_bytes();
  }

  static constexpr std::size_t encoded_weight_id_bytes = 12;
};

/// A message that outlives its sender's next activation.
class StoredMessage {
 public:
  explicit StoredMessage(const Message& message)
      : message_(message),
        vector_(message.vector.begin(), message.vector.end()),
        weight_update_(message.weight_update.begin(), message.weight_update.end()) {}

  Message view() const {
    Message message = message_;
    message.vector = vector_;
    message.weight_update = weight_update_;
    return message;
  }

 private:
  Message message_;  ///< its spans are replaced by the copies below
  std::vector<double> vector_;
  std::vector<float> weight_update_;
};

}  // namespace grove
