#pragma once

#include <cstdint>

#include "grove/agent/message.h"
#include "grove/base/types.h"

namespace grove {

/// The work of an agent so far, in units that do not depend on the machine.
struct Cost {
  std::uint64_t broadcasts = 0;  ///< activations that sent messages: the paper's communication cost
  /// d-vectors on links. Link weights, waves and sums count as the d-vectors that their bytes fill,
  /// rounded up.
  std::uint64_t vectors_sent = 0;
  std::uint64_t bytes_sent = 0;        ///< payload bytes of all messages
  std::uint64_t gradient_samples = 0;  ///< samples whose gradient was computed
  std::uint64_t hessian_samples = 0;   ///< samples whose Hessian was computed
  std::uint64_t solves = 0;            ///< linear systems solved
  std::uint64_t damped_steps = 0;      ///< local steps shortened by backtracking

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

  /// One activation that sends one d-vector to every neighbour.
  void count_broadcast(std::size_t neighbours, Index dimension) {
    broadcasts += 1;
    vectors_sent += neighbours;
    bytes_sent += neighbours * static_cast<std::uint64_t>(dimension) * sizeof(double);
  }
  /// One message on one link.
  void count_message(const Message& message, Index dimension) {
    const std::size_t vector_bytes = static_cast<std::size_t>(dimension) * sizeof(double);
    const std::size_t bytes = message.vector.size_bytes() + message.weight_update.size_bytes() +
                              (message.tree ? message.tree->number_bytes() : 0) +
                              (message.sparse ? message.sparse->payload_bytes() : 0);
    vectors_sent += (bytes + vector_bytes - 1) / vector_bytes;
    bytes_sent += message.payload_bytes();
  }
};

}  // namespace grove
