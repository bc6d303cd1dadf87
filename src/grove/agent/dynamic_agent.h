#pragma once

#include "grove/agent/agent.h"

namespace grove {

/// An agent with edge links whose network may change while it runs: between peers.
class DynamicAgent : public Agent {
 public:
  virtual void add_neighbour(const Neighbour& neighbour) = 0;  ///< in a new last slot
  virtual void drop_neighbour(std::size_t slot) = 0;  ///< the slots after it move down by one

  /// What message_to(slot) says has been copied and is not asked for again before the next
  /// activation: it need not be kept.
  virtual void forget_message(std::size_t /*slot*/) {}

  /// Numbers of activations since it was loaded may have been used before, in a life of which there
  /// is no checkpoint; those to come are above them all.
  virtual void renumber() {}

  /// How far this agent is from agreeing with its neighbours, in units of x.
  virtual double disagreement() const = 0;
  virtual double last_step() const = 0;  ///< how far the latest activation moved x

  /// The network has that many members, and this one applies its regularizer, or not. Methods that
  /// give every agent a share of it have no use for the difference.
  virtual void hold(bool holds, const Regularizer& regularizer, std::size_t network_size) = 0;
};

}  // namespace grove
