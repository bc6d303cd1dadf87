#pragma once

#include <limits>
#include <memory>
#include <optional>

#include "grove/agent/dynamic_agent.h"
#include "grove/agent/network_depth.h"
#include "grove/coupling/coupling.h"
#include "grove/coupling/link_metric.h"
#include "grove/coupling/regularizer_copy.h"
#include "grove/coupling/weight_publisher.h"
#include "grove/local/proximal_newton.h"
#include "grove/methods/safeguard.h"

namespace grove {

/// The DRUID family. The paper's methods have a fixed penalty and differ in the local solver. The
/// default method publishes link weights, with ProximalNewtonSteps as its local solver.
struct DruidOptions {
  CouplingOptions coupling;
  double prox = 0;  ///< eps_i >= 0
  /// mu_theta of the paper's copy theta of x at one agent. Without it every agent keeps its own
  /// share of r in its local model, which needs no penalty: sum f_i + n r = sum (f_i + r). A fixed
  /// penalty needs it where there is a regularizer.
  std::optional<double> theta_penalty;
  LocalModelKind local_model = LocalModelKind::augmented;
  LocalSolverOptions solver = NewtonSteps{};
  // Of published weights only:
  bool solve_alone = true;  ///< the first activation solves the agent's own problem
  PublishedHessian published_hessian = PublishedHessian::full;
  bool balance_residuals = true;  ///< raise weights that prove too small (ResidualBalancing)
  /// The mean of the diagonal of a published weight is never larger: the agent scales it down.
  double largest_weight = std::numeric_limits<double>::infinity();
  std::optional<Safeguard> safeguard = {};  ///< Newton steps on exact sums where links are slow
};

/// The form of the published weights; null with a fixed penalty.
inline const LinkWeightForm* published_form(const DruidOptions& options) {
  return std::get_if<LinkWeightForm>(&options.coupling.weighting);
}

/// Relaxation that published weights are used with (docs/reference/link-weights.md).
inline constexpr double published_relaxation = 1.7;

/// The default method: full link weights, or those of that form.
inline DruidOptions default_druid(LinkWeightForm form = {}, LinkKind kind = LinkKind::broadcast) {
  return {.coupling = {.kind = kind, .weighting = form, .relaxation = published_relaxation},
          .solver = ProximalNewtonSteps{}};
}

/// One agent of DRUID-VL and its relatives (docs/reference/link-weights.md).
class DruidAgent final : public DynamicAgent {
 public:
  DruidAgent(const DruidOptions& options, AgentContext context);

  void activate(const Activation& activation, Workspace& workspace) override;
  Message message_to(std::size_t slot) const override;
  void release_message(std::size_t slot) override { coupling_->release_message(slot); }
  void receive(std::size_t slot, const Message& message) override;
  void not_sent(std::size_t slot) override { coupling_->not_sent(slot); }
  void end_round() override;
  void add_neighbour(const Neighbour& neighbour) override;
  void drop_neighbour(std::size_t slot) override;
  void start_new_epoch() override;
  double disagreement() const override { return coupling_->disagreement(at_links()); }
  double last_step() const override { return step_length_; }
  void limit_coupling_gradients(const GradientLimit& limit) override {
    coupling_->limit_gradients(limit);
  }
  std::uint64_t coupling_gradients_limited() const override {
    return coupling_->gradients_limited();
  }
  void set_regularizer_holder(bool holds, const Regularizer& regularizer,
                              std::size_t network_size) override;
  const Vector& estimate() const override { return x_; }
  const Vector* regularized_estimate() const override;
  const Cost& cost() const override { return cost_; }
  std::span<const AgentEvent> events() const override { return events_; }
  void save(ByteWriter& writer) const override;
  Status load(ByteReader& reader) override;

 private:
  /// Present where agents publish link weights.
  struct Publication {
    WeightPublisher publisher;
    NetworkDepth depth;
    ProximalNewton& newton;  ///< the local solver: its Hessian is what is published
  };

  void first_activation(const SolverTurn& turn, Workspace& workspace);
  void local_update(const SolverTurn& turn, Workspace& workspace);
  LocalModel local_model(Workspace& workspace) const;
  void move_to(const Vector& point);
  bool changes_weights(const Activation& activation, Workspace& workspace);
  WeightInputs weight_inputs(Workspace& workspace);
  void publish_weight(const Activation& activation, Workspace& workspace);
  void prepare_messages(const Activation& activation);

  /// Where the links see this agent.
  const Vector& at_links() const { return metric_.is_identity() ? x_ : y_; }
  QuadraticTerm penalty_sum() const;

  AgentContext context_;
  DruidOptions options_;
  LinkMetric metric_;
  std::unique_ptr<Coupling> coupling_;
  std::unique_ptr<LocalSolver> solver_;
  std::optional<Publication> publication_;
  std::optional<RegularizerCopy> copy_;  ///< theta, at agent q only
  Regularizer share_;                    ///< of r, in the local model; trivial beside a copy
  Vector x_;
  Vector y_;                    ///< L'x_i of the metric; empty without one
  mutable Matrix penalty_sum_;  ///< of the links, in the coordinates of x; with a metric
  mutable std::uint64_t penalty_version_ = 0;  ///< of the sum that it was made from
  Matrix majorizer_;                           ///< of f_i, where it has one beside its Hessian
  std::uint64_t majorized_hessian_ = 0;        ///< number of the Hessian with which it was computed
  double step_length_ = 0;                     ///< of the latest activation
  bool active_ = false;                        ///< in the current round
  std::uint64_t sequence_ = 0;                 ///< of the latest activation
  HopCounts sent_hops_;  ///< of the latest messages: receiving others does not change them
  std::vector<AgentEvent> events_;
  Cost cost_;
};

}  // namespace grove
