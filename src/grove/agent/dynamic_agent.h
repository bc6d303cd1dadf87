#pragma once

#include "grove/agent/agent.h"
#include "grove/agent/gradient_limit.h"

namespace grove {

/// An agent whose neighbours may change while it runs: an agent of a peer.
class DynamicAgent : public Agent {
 public:
  virtual void add_neighbour(const Neighbour& neighbour) = 0;  ///< in a new last slot
  virtual void drop_neighbour(std::size_t slot) = 0;  ///< the slots after it move down by one

  /// The neighbour can be reached, or has not been for a while. A method that waits for all its
  /// neighbours goes on without those that cannot.
  virtual void set_live(std::size_t /*slot*/, bool /*live*/) {}

  /// The message to that neighbour was copied and will not be requested again before the next
  /// activation: the agent need not keep it.
  virtual void release_message(std::size_t /*slot*/) {}

  /// Sequence numbers since the state was loaded may have been used before, by a process that left
  /// no checkpoint of them; those to come are above them all.
  virtual void start_new_epoch() {}

  /// Distance between this agent and its neighbours, in units of x.
  virtual double disagreement() const = 0;
  virtual double last_step() const = 0;  ///< length of the latest activation's step

  /// The members that the certificate counts, sorted, if they are those that are present and nobody
  /// is missing; none otherwise.
  virtual std::span<const AgentId> counted_members() const { return {}; }
  /// Of each of them, what identifies its data in the table of links.
  virtual std::span<const std::uint32_t> counted_data() const { return {}; }
  /// Limits how hard a message of a neighbour can push this agent.
  virtual void limit_coupling_gradients(const GradientLimit& /*limit*/) {}
  virtual std::uint64_t coupling_gradients_limited() const { return 0; }  ///< messages beyond it

  /// The network has that many members, and this agent applies r, or not. Methods in which every
  /// agent has a share of r ignore the difference.
  virtual void set_regularizer_holder(bool holds, const Regularizer& regularizer,
                                      std::size_t network_size) = 0;
};

}  // namespace grove
