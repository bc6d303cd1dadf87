#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grove/base/types.h"

namespace grove {

/// One d-vector on its way from an agent to a neighbour. The payload is borrowed from the sender
/// and valid until its next activation; a runtime that keeps a message longer copies it.
struct Message {
  AgentId from;
  std::uint64_t sequence = 0;  ///< grows with every activation of the sender
  std::span<const double> payload;
};

/// A message that outlives its sender's next activation.
class StoredMessage {
 public:
  explicit StoredMessage(const Message& message)
      : from_(message.from),
        sequence_(message.sequence),
        payload_(message.payload.begin(), message.payload.end()) {}

  Message view() const { return {from_, sequence_, payload_}; }

 private:
  AgentId from_;
  std::uint64_t sequence_;
  std::vector<double> payload_;
};

}  // namespace grove
