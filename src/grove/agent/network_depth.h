#pragma once

#include "grove/agent/message.h"

namespace grove {

/// Estimates the depth of the network, the largest distance in hops of any agent from the root,
/// agent 0. Each message carries the sender's own distance and the largest distance it knows.
/// Distances only shrink and the depth only grows, so that lost, late and repeated messages do no
/// harm.
class NetworkDepth {
 public:
  NetworkDepth(bool is_root, double network_size)
      : counts_{.from_root = is_root ? 0 : HopCounts::unknown},
        limit_(static_cast<float>(network_size)) {}

  void set_network_size(double size) { limit_ = static_cast<float>(size); }
  void become_root() { counts_.from_root = 0; }  ///< permanently: the depth is a rough measure

  const HopCounts& counts() const { return counts_; }  ///< what messages carry
  void receive(const HopCounts& neighbour);
  /// The largest distance known so far; 0 before any message from the root has arrived.
  double depth() const { return static_cast<double>(counts_.depth); }

 private:
  HopCounts counts_;
  float limit_;  ///< number of agents: no distance can be larger, and larger ones are ignored
};

}  // namespace grove
