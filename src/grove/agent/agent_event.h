#pragma once

#include <cstdint>

#include "grove/base/types.h"

namespace grove {

/// Something an agent noticed about its own run, and what it did about it.
struct AgentEvent {
  enum class Kind : std::uint32_t { raised_links };

  Round round = 0;
  Kind kind = Kind::raised_links;
  double value = 0;  ///< raised_links: the weight over what it was at first
};

}  // namespace grove
