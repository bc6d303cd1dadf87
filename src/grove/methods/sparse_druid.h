#pragma once

#include <memory>
#include <optional>

#include "grove/agent/dynamic_agent.h"
#include "grove/agent/network_depth.h"
#include "grove/coupling/sparse_publisher.h"
#include "grove/methods/druid.h"
#include "grove/problem/active_newton.h"

namespace grove {

/// An agent of DRUID-VL with sparse link weights (docs/reference/link-weights.md): the default
/// method for many coefficients. It works on the coordinates that l1 and bounds leave free, and
/// takes time and messages in proportion to the non-zeros of its samples and of x.
class SparseDruidAgent final : public DynamicAgent {
 public:
  /// The objective is one that restricts(), and r is separable.
  SparseDruidAgent(const DruidOptions& options, AgentContext context);
  ~SparseDruidAgent() override;

  void activate(const Activation& activation, Workspace& workspace) override;
  Message message_to(std::size_t slot) const override;
  void release_message(std::size_t slot) override { links_.release_message(slot); }
  void receive(std::size_t slot, const Message& message) override;
  void not_sent(std::size_t slot) override { links_.not_sent(slot); }
  void end_round() override { links_.settle(x_); }
  void add_neighbour(const Neighbour& neighbour) override;
  void drop_neighbour(std::size_t slot) override;
  void start_new_epoch() override { publisher_.start_new_epoch(); }
  double disagreement() const override { return links_.disagreement(); }
  double last_step() const override { return step_length_; }
  void limit_coupling_gradients(const GradientLimit& limit) override {
    links_.limit_gradients(limit);
  }
  std::uint64_t coupling_gradients_limited() const override { return links_.gradients_limited(); }
  void set_regularizer_holder(bool holds, const Regularizer& regularizer,
                              std::size_t network_size) override;
  const Vector& estimate() const override { return x_; }
  const Cost& cost() const override { return cost_; }
  std::span<const AgentEvent> events() const override { return events_; }
  void save(ByteWriter& writer) const override;
  Status load(ByteReader& reader) override;

 private:
  void first_activation(ActiveNewton& newton, const Activation& activation);
  void local_update(ActiveNewton& newton, const Activation& activation);
  void count(const ActiveWork& work);
  void touch_support();
  template <class Use>
  void with_inputs(const ActiveNewton& newton, const Use& use);

  AgentContext context_;
  DruidOptions options_;
  SparseLinks links_;
  SparsePublisher publisher_;
  NetworkDepth depth_;
  Vector x_;
  double step_length_ = 0;      ///< of the latest activation
  double lone_ridge_ = 0;       ///< of an agent without neighbours
  std::uint64_t sequence_ = 0;  ///< of the latest activation
  HopCounts sent_hops_;
  std::vector<AgentEvent> events_;
  Cost cost_;
};

}  // namespace grove
