#pragma once

#include <optional>

#include "grove/agent/agent.h"
#include "grove/agent/links.h"
#include "grove/methods/local_solver.h"
#include "grove/methods/theta.h"

namespace grove {

/// The DRUID family: DRUID-VL and its relatives differ in the local solver only.
struct DruidOptions {
  LinkKind link = LinkKind::broadcast;
  double penalty = 1e-3;        ///< mu_z > 0, of every link
  double theta_penalty = 2e-3;  ///< mu_theta > 0
  double prox = 2e-3;           ///< eps_i >= 0
  LocalModelKind local_model = LocalModelKind::augmented;
  LocalSolverOptions solver = NewtonSteps{};
};

/// One agent of DRUID-VL (docs/methods/druid_vl.md).
class DruidAgent final : public Agent {
 public:
  DruidAgent(const DruidOptions& options, AgentContext context);

  void activate(const Activation& activation, Workspace& workspace) override;
  Message message_to(std::size_t slot) const override;
  void receive(std::size_t slot, const Message& message) override;
  void end_round() override;
  /// The network may change under a running agent (edge links): see Links.
  void add_neighbour(const Neighbour& neighbour);  ///< in a new last slot
  void drop_neighbour(std::size_t slot);
  double disagreement() const { return links_->disagreement(x_); }
  /// Takes over, or keeps, the regularizer of a network of that size; a trivial one lets it go.
  void hold(const Regularizer& regularizer, std::size_t network_size);

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
  std::optional<Theta> theta_;  ///< at agent q only
  Vector x_;
  bool spoke_ = false;          ///< in the current round
  std::uint64_t sequence_ = 0;  ///< of the latest activation
  Cost cost_;
};

}  // namespace grove
