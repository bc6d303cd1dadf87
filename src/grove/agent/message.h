#pragma once

#include <cstdint>
#include <span>

#include "grove/base/types.h"

namespace grove {

/// One d-vector on its way from an agent to a neighbour. The payload is borrowed from the sender
/// and valid until its next activation; a runtime that keeps a message longer copies it.
struct Message {
  AgentId from;
  std::uint64_t sequence = 0;  ///< grows with every activation of the sender
  std::span<const double> payload;
};

}  // namespace grove
