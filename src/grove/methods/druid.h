#pragma once

#include <optional>

#include "grove/agent/dynamic_agent.h"
#include "grove/coupling/links.h"
#include "grove/coupling/regularizer_copy.h"
#include "grove/local/local_solver.h"

namespace grove {

/// The DRUID family: DRUID-VL and its relatives differ in the local solver only.
struct DruidOptions {
  LinkKind link = LinkKind::broadcast;
  bool unequal_rates = false;   ///< some agents work more often than others
  double penalty = 1e-3;        ///< mu_z > 0, of every link
  double theta_penalty = 2e-3;  ///< mu_theta > 0
  double prox = 2e-3;           ///< eps_i >= 0
  LocalModelKind local_model = LocalModelKind::augmented;
  LocalSolverOptions solver = NewtonSteps{};
};

/// One agent of DRUID-VL (docs/methods/druid_vl.md).
class DruidAgent final : public DynamicAgent {
 public:
  DruidAgent(const DruidOptions& options, AgentContext context);

  void activate(const Activation& activation, Workspace& workspace) override;
  Message message_to(std::size_t slot) const override;
  void forget_message(std::size_t slot) override { links_->forget_payload(slot); }
  void receive(std::size_t slot, const Message& message) override;
  void end_round() override;
  void add_neighbour(const Neighbour& neighbour) override;
  void drop_neighbour(std::size_t slot) override;
  double disagreement() const override { return links_->disagreement(x_); }
  double last_step() const override { return step_; }
  void hold(bool holds, const Regularizer& regularizer, std::size_t network_size) override;
  const Vector& estimate() const override { return x_; }
  const Vector* regularized_estimate() const override;
  const Cost& cost() const override { return cost_; }
  void save(ByteWriter& writer) const override;
  Status load(ByteReader& reader) override;

 private:
  LocalModel local_model(Workspace& workspace) const;
  void speak(const Activation& activation);

  AgentContext context_;
  double penalty_;        ///< mu_z of links to come
  double theta_penalty_;  ///< mu_theta
  double prox_;           ///< eps_i
  LocalModelKind model_kind_;
  std::unique_ptr<LocalSolver> solver_;
  std::unique_ptr<Links> links_;
  std::optional<RegularizerCopy> theta_;  ///< at agent q only
  Vector x_;
  double step_ = 0;             ///< length of the latest activation's move
  bool spoke_ = false;          ///< in the current round
  std::uint64_t sequence_ = 0;  ///< of the latest activation
  Cost cost_;
};

}  // namespace grove
