#pragma once

#include <cstdint>

#include "grove/base/types.h"

namespace grove {

/// What an agent has spent so far, in units that do not depend on the machine.
struct Cost {
  std::uint64_t broadcasts = 0;  ///< activations that spoke: the paper's communication cost
  /// d-vectors on links. A curvature counts as those that its bytes would fill, rounded up.
  std::uint64_t vectors_sent = 0;
  std::uint64_t bytes_sent = 0;        ///< payload bytes of all messages
  std::uint64_t gradient_samples = 0;  ///< samples whose gradient was computed
  std::uint64_t hessian_samples = 0;   ///< samples whose Hessian was computed
  std::uint64_t solves = 0;            ///< linear systems solved
  std::uint64_t damped_steps = 0;      ///< local steps shortened: whole, the model would have risen

  Cost& operator+=(const Cost& other) {
    broadcasts += other.broadcasts;
    vectors_sent += other.vectors_sent;
    bytes_sent += other.bytes_sent;
    gradient_samples += other.gradient_samples;
    hessian_samples += other.hessian_samples;
    solves += other.solves;
    damped_steps += other.damped_steps;
    return *this;
  }
  bool operator==(const Cost&) const = default;

  /// One activation told every neighbour one vector.
  void count_broadcast(std::size_t neighbours, Index dimension) {
    broadcasts += 1;
    vectors_sent += neighbours;
    bytes_sent += neighbours * static_cast<std::uint64_t>(dimension) * sizeof(double);
  }
};

}  // namespace grove
