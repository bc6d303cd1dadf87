#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "grove/agent/network_depth.h"
#include "grove/methods/safeguard.h"
#include "grove/methods/tree_newton.h"

namespace grove {

/// An agent of a method with links, beside which tree-newton starts where links converge slowly:
/// far outliers, agents with few rows, losses with a kink. Most runs end before. The estimate is
/// that of the method until tree-newton has accepted a step from it. An agent whose estimate runs
/// away at once, as rounding in a nearly singular system can cause, gives its method up.
class SafeguardedAgent final : public Agent {
 public:
  SafeguardedAgent(const Safeguard& safeguard, const AgentContext& context,
                   std::unique_ptr<Agent> method);

  void activate(const Activation& activation, Workspace& workspace) override;
  Message message_to(std::size_t slot) const override;
  void not_sent(std::size_t slot) override;
  void receive(std::size_t slot, const Message& message) override;
  void end_round() override;
  bool wants_activation(bool received) const override;
  const Vector& estimate() const override;
  const Vector* regularized_estimate() const override;
  const AnswerCertificate* certificate() const override;
  const Cost& cost() const override { return cost_; }
  std::span<const AgentEvent> events() const override { return events_; }
  void save(ByteWriter& writer) const override;
  Status load(ByteReader& reader) override;

 private:
  bool is_slow() const;
  bool runs_away() const;
  void begin_newton(const Vector& start);
  bool newton_leads() const;  ///< its point is the estimate
  void collect_events();

  Safeguard safeguard_;
  AgentContext context_;  ///< of the agent of tree-newton
  std::unique_ptr<Agent> method_;
  std::optional<TreeNewtonAgent> newton_;
  NetworkDepth depth_;
  bool given_up_ = false;    ///< the method; tree-newton goes on alone
  double largest_norm_ = 0;  ///< of the method's estimates
  std::uint64_t activations_ = 0;
  Round round_ = 0;
  std::vector<AgentEvent> events_;
  std::size_t method_events_ = 0, newton_events_ = 0;  ///< how many of them events_ has
  Cost cost_;
};

}  // namespace grove
