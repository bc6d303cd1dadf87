#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "grove/methods/method.h"
#include "grove/peer/checkpoint.h"
#include "grove/peer/peer_config.h"

namespace grove::peer {

/// The starting point of a peer without a checkpoint.
struct PeerStart {
  Vector x;
  bool from_neighbours = false;  ///< x is the mean of working neighbours' estimates
};

/// The agent of a peer. It adds names of neighbours, sequence numbers that survive crashes, and the
/// local residual to the agent of the method. It is deterministic and does no I/O.
class PeerAgent {
 public:
  /// The problem must outlive the agent.
  PeerAgent(const PeerProblem& problem, const std::string& name, std::uint64_t seed,
            PeerStart start);

  /// Continues from a checkpoint of the same problem. Returns false if the checkpoint is invalid;
  /// the agent is then unusable.
  bool restore(const Checkpoint& checkpoint);
  Checkpoint checkpoint() const;

  const std::vector<std::string>& neighbours() const { return names_; }
  const std::vector<std::uint64_t>& last_received() const { return last_received_; }
  bool has(const std::string& name) const;
  void add(const std::string& name);
  void drop(const std::string& name);
  void set_regularizer_holder(bool holds, std::size_t members);

  /// Returns false if the message pulled harder than the agreed bound allows; its effect is then
  /// limited to the bound.
  bool receive(const std::string& name, const Message& message);
  /// Runs one activation of at most `steps` local steps. `received_from_self` is the newest
  /// sequence of this peer that its neighbours know. If it is newer than the agent's own, the agent
  /// was rolled back, and starts a new epoch.
  void activate(std::uint64_t received_from_self, int steps);
  std::uint64_t solves() const { return agent_->cost().solves; }  ///< local steps in all epochs
  Message message_to(std::size_t slot) const { return agent_->message_to(slot); }
  void not_sent(std::size_t slot) { agent_->not_sent(slot); }
  void release_message(std::size_t slot) { agent_->release_message(slot); }

  /// The largest of the last step, the disagreement on the links and, at the regularizer's holder,
  /// |x - theta|, relative to |x|. Infinite until every neighbour has sent a message in this epoch.
  /// Of a method that certifies its answer: the certificate's last step, infinite without one.
  double residual() const;
  /// Of the answer; null before, and with methods that have none.
  const AnswerCertificate* certificate() const { return agent_->certificate(); }
  /// The members that the certificate counts, as agent_number() of their names, sorted; none if
  /// others are present now.
  std::span<const AgentId> counted_members() const;
  std::span<const std::uint32_t> counted_data() const { return agent_->counted_data(); }
  /// The neighbour can be reached, or has not been for a while.
  void set_live(const std::string& name, bool live);

  const Vector& answer() const;  ///< theta at the regularizer's holder, x elsewhere
  const Vector& estimate() const { return agent_->estimate(); }
  bool holds_regularizer() const { return holds_; }
  std::uint64_t activations() const { return agent_->cost().broadcasts; }
  std::span<const AgentEvent> events() const { return agent_->events(); }
  std::uint64_t sequence() const { return sequence_; }
  /// How often the agent was reset because its estimate was out of range. Causes are a damaged
  /// state and huge values of a neighbour. A reset agent starts as if it had lost its state.
  int resets() const { return resets_; }

 private:
  std::size_t slot_of(const std::string& name) const;
  bool in_range() const;
  bool has_received_from_all() const;  ///< in this epoch
  void run_local_steps(int steps);
  void reset();
  void limit_influence();

  const PeerProblem& problem_;
  std::string name_;
  std::uint64_t seed_;
  std::unique_ptr<DynamicAgent> agent_;
  Workspace workspace_;
  std::uint64_t sequence_ = 0;                ///< of the latest activation
  std::vector<std::string> names_;            ///< by slot
  std::vector<std::uint64_t> last_received_;  ///< newest sequence, by slot
  std::vector<char> received_this_epoch_;     ///< by slot
  bool holds_ = false;       ///< this peer holds the regularizer, and is the root of the network
  std::size_t members_ = 1;  ///< n
  int resets_ = 0;
  bool activated_ = false;  ///< in this epoch
  double scale_ = 0;        ///< |x|
};

}  // namespace grove::peer
