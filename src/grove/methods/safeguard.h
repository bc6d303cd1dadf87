#pragma once

#include <cstdint>

namespace grove {

/// When an agent of a method with links begins to take part in Newton steps on exact sums: after
/// `activations + per_hop * (depth of the network)` activations of its own, or when a neighbour has
/// begun.
struct Safeguard {
  std::uint64_t activations = 30;
  std::uint64_t per_hop = 4;
};

}  // namespace grove
