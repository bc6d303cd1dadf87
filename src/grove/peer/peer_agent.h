#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "grove/methods/druid.h"
#include "grove/peer/checkpoint.h"
#include "grove/peer/peer_config.h"

namespace grove::peer {

/// Where a peer without a past begins.
struct PeerStart {
  Vector x;
  bool from_neighbours = false;  ///< they have been working: x is worth keeping
};

/// The agent of a peer: neighbours by name, sequence numbers that survive crashes, and the local
/// residual. Deterministic, does no I/O.
class PeerAgent {
 public:
  /// Borrows the problem.
  PeerAgent(const PeerProblem& problem, const std::string& name, std::uint64_t seed,
            PeerStart start);

  /// Continues from a checkpoint of the same problem; false: it does not fit.
  bool restore(const Checkpoint& checkpoint);
  Checkpoint checkpoint() const;

  const std::vector<std::string>& neighbours() const { return names_; }
  const std::vector<std::uint64_t>& heard() const { return heard_; }
  bool has(const std::string& name) const;
  void add(const std::string& name);
  void drop(const std::string& name);
  void hold_regularizer(bool holds, std::size_t members);

  void receive(const std::string& name, const Message& message);
  /// One activation of at most `steps` local steps, as a life after the one in which others heard
  /// `heard_of_self`.
  void activate(std::uint64_t heard_of_self, int steps);
  std::uint64_t solves() const { return agent_->cost().solves; }  ///< local steps of all its lives
  Message message_to(std::size_t slot) const { return agent_->message_to(slot); }
  void not_sent(std::size_t slot) { agent_->not_sent(slot); }
  void forget_message(std::size_t slot) { agent_->forget_message(slot); }

  /// How far this peer is from rest, relative to the size of x: the largest of its last step, the
  /// disagreement on its links and, where it holds the regularizer, |x - theta|. Infinite until
  /// every neighbour has been heard in this life.
  double residual() const;

  const Vector& answer() const;  ///< theta where this peer has it, otherwise x
  const Vector& estimate() const { return agent_->estimate(); }
  bool holds_regularizer() const { return holds_; }
  std::uint64_t activations() const { return agent_->cost().broadcasts; }
  std::span<const AgentEvent> events() const { return agent_->events(); }
  std::uint64_t sequence() const { return sequence_; }
  /// How often x had left all reason (a damaged state, a neighbour's huge numbers) and this agent
  /// began anew, as if it had lost its state.
  int fresh_starts() const { return fresh_starts_; }

 private:
  std::size_t slot_of(const std::string& name) const;
  bool sane() const;
  void work(int steps);
  void start_anew();

  const PeerProblem& problem_;
  std::string name_;
  std::uint64_t seed_;
  std::unique_ptr<DynamicAgent> agent_;
  Workspace workspace_;
  std::uint64_t sequence_ = 0;        ///< of the latest activation
  std::vector<std::string> names_;    ///< by slot
  std::vector<std::uint64_t> heard_;  ///< newest sequence, by slot
  std::vector<char> heard_now_;       ///< in this life, by slot
  bool holds_ = false;                ///< the regularizer's copy of x, or the root of the depth
  std::size_t members_ = 1;           ///< n
  int fresh_starts_ = 0;
  bool worked_ = false;  ///< in this life
  double scale_ = 0;     ///< |x|
};

}  // namespace grove::peer
