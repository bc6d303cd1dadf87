#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "grove/agent/agent_event.h"
#include "grove/agent/answer_certificate.h"
#include "grove/agent/cost.h"
#include "grove/agent/message.h"
#include "grove/agent/workspace.h"
#include "grove/base/bytes.h"
#include "grove/base/types.h"
#include "grove/problem/objective.h"
#include "grove/problem/regularizer.h"
#include "grove/schedule/schedule.h"

namespace grove {

/// One neighbour, as an agent knows it.
struct Neighbour {
  AgentId id;
  double mixing_weight = 0;  ///< W_ij of the gradient methods (Metropolis)
};

inline std::vector<AgentId> ids_of(std::span<const Neighbour> neighbours) {
  std::vector<AgentId> ids;
  ids.reserve(neighbours.size());
  for (const Neighbour& neighbour : neighbours) ids.push_back(neighbour.id);
  return ids;
}

/// Everything an agent is given: its own data and its neighbours.
struct AgentContext {
  AgentId id;
  std::uint64_t seed = 1;
  std::vector<Neighbour> neighbours;  ///< sorted by id; the slot of a neighbour is its position
  std::shared_ptr<const Objective> objective;
  Regularizer regularizer;       ///< trivial unless this agent applies r
  std::size_t network_size = 1;  ///< n: the network minimizes sum f_i + n r
  Vector start;                  ///< x^0, common to all agents
  /// Lower triangular L. Links couple L'x_i, and their weights are relative to the metric L L'.
  /// Common to all agents; null: the identity.
  std::shared_ptr<const Matrix> metric = nullptr;
};

/// A deterministic state machine that does no I/O: activations and messages in, messages out.
/// The same agent runs in the simulator, under MPI and between peers.
///
/// A lock-step round: activate some agents; deliver message_to(slot) of each active agent to its
/// neighbours; call end_round at every agent, active or not.
class Agent {
 public:
  virtual ~Agent() = default;

  virtual void activate(const Activation& activation, Workspace& workspace) = 0;

  /// The latest activation's message to the neighbour in that slot of the context.
  virtual Message message_to(std::size_t slot) const = 0;

  /// The runtime could not send that message: the neighbour has not taken the last one, or is gone.
  virtual void not_sent(std::size_t /*slot*/) {}

  /// From the neighbour in that slot. Stale messages (by sequence) change nothing.
  virtual void receive(std::size_t slot, const Message& message) = 0;

  virtual void end_round() = 0;

  /// Whether an agent that runs free has reason to work now. `received`: a message has arrived
  /// since its last activation. An agent that has none works again after a while.
  virtual bool wants_activation(bool received) const { return received; }

  virtual const Vector& estimate() const = 0;  ///< x_i

  /// theta, at the agent that keeps a copy; null elsewhere, and where every agent has a share of r.
  virtual const Vector* regularized_estimate() const { return nullptr; }

  /// Of the estimate, if the network has certified it; null otherwise.
  virtual const AnswerCertificate* certificate() const { return nullptr; }

  virtual const Cost& cost() const = 0;

  /// Actions of its safeguards so far, in order.
  virtual std::span<const AgentEvent> events() const { return {}; }

  /// The whole state, so that a loaded agent continues exactly as the saved one would have.
  virtual void save(ByteWriter& writer) const = 0;
  virtual Status load(ByteReader& reader) = 0;
};

}  // namespace grove
