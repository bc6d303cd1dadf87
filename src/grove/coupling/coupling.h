#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "grove/agent/gradient_limit.h"
#include "grove/agent/message.h"
#include "grove/base/bytes.h"
#include "grove/base/types.h"
#include "grove/coupling/weight_table.h"

namespace grove {

struct CouplingOptions {
  LinkKind kind = LinkKind::broadcast;
  LinkWeighting weighting = FixedPenalty{};
  /// Relaxation of the Douglas-Rachford iteration: 1 is ADMM; up to 2, fixed points and
  /// convergence stay the same.
  double relaxation = 1;
};

/// The links of one agent: couples x_i to the neighbours' x_j so that every fixed point is the
/// optimum (docs/reference/link-weights.md). In lock-step rounds with a fixed penalty both kinds
/// give the same iterates.
///
/// A link has an edge variable z_ij and a dual variable. Its gradient at x is
/// dual_ij + P_ij (x - z_ij). After a round, each active end moves z_ij by relaxation/2 of the way
/// towards its x, and the dual variables change by as much, weighted by P_ij.
class Coupling {
 public:
  virtual ~Coupling() = default;

  virtual const WeightTable& weights() const = 0;

  /// Replaces the weight that this agent, now at x, contributes to its links. Versions grow and are
  /// never used twice.
  virtual void publish(LinkWeight own, std::uint64_t version, const Vector& x) = 0;
  /// A neighbour knows a later weight of this agent than the agent itself: the agent was rolled
  /// back to an earlier state and has to publish again.
  virtual bool rolled_back() const = 0;

  /// gradient += gradient of the coupling at x, the agent's point at the end of the last round.
  virtual void add_gradient(const Vector& x, Vector& gradient) const = 0;

  // Two squared lengths in one metric, summed over the established links: for ResidualBalancing, of
  // published weights only.
  virtual double squared_step(const Vector& step) = 0;  ///< of a step of this agent
  /// Of the differences between this agent, at x, and its neighbours. None until every established
  /// link has received a message since the last call.
  virtual std::optional<double> squared_residual(const Vector& x) = 0;

  /// After an activation that ended at x.
  virtual void prepare_messages(const Vector& x) = 0;
  /// Sets weights, vector and weight_update of the message to that neighbour.
  virtual void fill_message(std::size_t slot, const Vector& x, Message& message) const = 0;
  /// The message to that neighbour was copied and will not be requested again.
  virtual void release_message(std::size_t /*slot*/) {}
  /// The message to that neighbour was not sent.
  virtual void not_sent(std::size_t slot) = 0;

  /// True if the message brought a new weight.
  virtual bool receive(std::size_t slot, const Message& message, const Vector& x) = 0;
  /// Limits the gradient of every link when a message is received: no neighbour can push this agent
  /// harder. Edge coupling only.
  virtual void limit_gradients(const GradientLimit& /*limit*/) {}
  virtual std::uint64_t gradients_limited() const { return 0; }  ///< messages that exceeded it
  /// `active`: whether this agent was active in the round that ends.
  virtual void end_round(const Vector& x, bool active) = 0;

  /// Adds a link in a new last slot, with zero gradient at x.
  virtual void add_link(const Vector& x) = 0;
  /// Removes a link for good; the slots after it move down by one.
  virtual void remove_link(std::size_t slot) = 0;

  /// The largest distance, in units of x, between an incoming message and the state of its link.
  /// Zero at both ends of a link means that the two agents agree. Infinite while some link is not
  /// established or its ends use different weights.
  virtual double disagreement(const Vector& x) const = 0;

  virtual void save(ByteWriter& writer) const = 0;
  virtual void load(ByteReader& reader) = 0;
};

std::unique_ptr<Coupling> make_coupling(const CouplingOptions& options, const Vector& start,
                                        std::size_t neighbours);

}  // namespace grove
