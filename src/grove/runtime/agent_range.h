#pragma once

#include <cstdint>

#include "grove/base/types.h"

namespace grove {

/// Agents [first, last).
struct AgentRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;

  std::size_t size() const { return last - first; }
  bool contains(AgentId agent) const { return first <= agent.value && agent.value < last; }
};

}  // namespace grove
