#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "grove/agent/dynamic_agent.h"
#include "grove/methods/answered_points.h"
#include "grove/methods/newton_answers.h"
#include "grove/sums/tree_sums.h"

namespace grove {

struct CertifiedAgentOptions {
  double tolerance = 1e-8;      ///< of the local residuals, and of the Newton step at the answer
  double gap_tolerance = 1e-6;  ///< of the certified gap, relative to the objective
  LinkStateOptions links = {};
  std::optional<MaskOptions> masks = {};  ///< nobody sees an agent's own numbers
};

/// An agent of a method with links, whose network certifies its answer by sums over a tree.
///
/// When the root of the tree is locally converged it asks all members for their estimates. If all
/// are locally converged, value, gradient and Hessian are summed at the mean of the estimates. The
/// Newton step from there is taken, once or twice, until it is shorter than the tolerance and the
/// bound on the gap is within its own. The point and its certificate are announced to everybody:
/// the estimate of all agents from then on, until the members change. The method itself goes on as
/// if nothing had been asked.
class CertifiedAgent final : public DynamicAgent {
 public:
  CertifiedAgent(const CertifiedAgentOptions& options, const AgentContext& context,
                 std::unique_ptr<DynamicAgent> method);

  void activate(const Activation& activation, Workspace& workspace) override;
  Message message_to(std::size_t slot) const override;
  void not_sent(std::size_t slot) override;
  void release_message(std::size_t slot) override { method_->release_message(slot); }
  void receive(std::size_t slot, const Message& message) override;
  void end_round() override { method_->end_round(); }
  void add_neighbour(const Neighbour& neighbour) override;
  void drop_neighbour(std::size_t slot) override;
  void set_live(std::size_t slot, bool live) override { sums_.set_live(slot, live); }
  void start_new_epoch() override;
  double disagreement() const override { return method_->disagreement(); }
  double last_step() const override { return method_->last_step(); }
  void limit_coupling_gradients(const GradientLimit& limit) override {
    method_->limit_coupling_gradients(limit);
  }
  std::uint64_t coupling_gradients_limited() const override {
    return method_->coupling_gradients_limited();
  }
  void set_regularizer_holder(bool holds, const Regularizer& regularizer,
                              std::size_t network_size) override;
  const Vector& estimate() const override;
  const Vector* regularized_estimate() const override;
  const AnswerCertificate* certificate() const override;
  std::span<const AgentId> counted_members() const override;
  std::span<const std::uint32_t> counted_data() const override { return sums_.plan().data; }
  const Cost& cost() const override { return method_->cost(); }
  std::span<const AgentEvent> events() const override { return method_->events(); }
  void save(ByteWriter& writer) const override;
  Status load(ByteReader& reader) override;

  /// The largest of the last step, the disagreement on the links and |x - theta|, relative to |x|.
  double local_residual() const;

 private:
  void begin(NewtonQuestion question);
  void answer(Workspace& workspace);
  void decide(const Answers& total);
  bool may_poll() const;
  void poll();
  void wait_longer();
  Answers estimate_answer() const;
  void decide_poll(const Answers& total);
  void decide_certificate(const NewtonTotals& totals);
  bool has_answer() const;

  CertifiedAgentOptions options_;
  Regularizer regularizer_;  ///< r
  std::unique_ptr<DynamicAgent> method_;
  NewtonAnswers answers_;
  TreeSums sums_;
  NewtonQuestion question_;  ///< of the present wave
  std::uint64_t activations_ = 0;
  std::uint64_t next_poll_ = 0;  ///< activation
  std::uint64_t wait_ = 1;       ///< activations between polls; doubles when one was too early
  int steps_ = 0;                ///< Newton steps since the latest poll
  std::uint8_t coarseness_ = 0;  ///< of masked answers, from now on
  AnsweredPoints answered_;      ///< with masks
  WaveId given_up_;              ///< the latest wave of an attempt that came to nothing
  Cost sums_cost_;
};

}  // namespace grove
