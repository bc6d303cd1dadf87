#pragma once

#include <cstdint>

#include "grove/base/types.h"

namespace grove {

/// An action of one of an agent's safeguards.
struct AgentEvent {
  enum class Kind : std::uint32_t { raised_links };

  Round round = 0;
  Kind kind = Kind::raised_links;
  double value = 0;  ///< raised_links: factor of the weights since the start
};

}  // namespace grove
