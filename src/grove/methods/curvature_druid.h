#pragma once

#include <memory>
#include <optional>

#include "grove/agent/dynamic_agent.h"
#include "grove/agent/network_depth.h"
#include "grove/coupling/curvature_links.h"
#include "grove/coupling/regularizer_copy.h"
#include "grove/coupling/residual_balancing.h"
#include "grove/local/coupled_newton.h"

namespace grove {

/// DRUID-VL whose links weigh disagreement by the curvature of their ends.
struct CurvatureDruidOptions {
  LinkKind link = LinkKind::broadcast;
  CurvatureForm form;
  double prox = 0;  ///< eps_i >= 0; the links alone keep every local model convex
  /// mu_theta of the paper's copy of x at one agent. Without it every agent keeps its own share of
  /// r in its local model, which needs no penalty: sum f_i + n r = sum (f_i + r).
  std::optional<double> theta_penalty;
  bool stop_when_quadratic = true;  ///< as many local steps as pay, at most those of the activation
  bool solve_alone = true;          ///< first of all; without it the agent begins where it is
  bool balance_residuals = true;    ///< raise links that prove too soft (ResidualBalancing)
  Sampling sampling = FullBatches{};  ///< not MiniBatches: their noise would pass for curvature
};

/// One agent of it (docs/methods/curvature_links.md). Its first activation solves its own problem
/// with a light ridge and introduces it to its neighbours; from then on it is DRUID-VL, with a new
/// curvature told whenever the Hessian has left the old one.
class CurvatureDruidAgent final : public DynamicAgent {
 public:
  CurvatureDruidAgent(const CurvatureDruidOptions& options, AgentContext context);

  void activate(const Activation& activation, Workspace& workspace) override;
  Message message_to(std::size_t slot) const override;
  void receive(std::size_t slot, const Message& message) override;
  void not_sent(std::size_t slot) override { links_->not_sent(slot); }
  void end_round() override;
  void add_neighbour(const Neighbour& neighbour) override;
  void drop_neighbour(std::size_t slot) override;
  void renumber() override { renumbered_ = true; }
  double disagreement() const override { return links_->disagreement(x_); }
  double last_step() const override { return step_; }
  void hold(bool holds, const Regularizer& regularizer, std::size_t network_size) override;
  const Vector& estimate() const override { return x_; }
  const Vector* regularized_estimate() const override;
  const Cost& cost() const override { return cost_; }
  std::span<const AgentEvent> events() const override { return events_; }
  void save(ByteWriter& writer) const override;
  Status load(ByteReader& reader) override;

 private:
  void introduce(const Activation& activation, Workspace& workspace);
  void improve(const Activation& activation, Workspace& workspace);
  double scale() const;
  const Vector& floor_of(const Matrix& hessian);
  void look_at_curvature(Matrix& result);
  bool has_drifted(Workspace& workspace);
  bool stalls(const Activation& activation, Workspace& workspace);
  void move_to(const Vector& point);
  void publish(const Activation& activation);
  void speak(const Activation& activation);

  AgentContext context_;
  CurvatureDruidOptions options_;
  std::unique_ptr<CurvatureLinks> links_;
  NetworkDepth depth_;
  Regularizer share_;  ///< of r, in the local model; trivial where theta has it all
  std::optional<RegularizerCopy> theta_;  ///< at agent q only, if at all
  CoupledNewton newton_;
  Vector x_;
  double step_ = 0;  ///< length of the latest activation's move
  /// What the told curvature is a picture of, its lower triangle; empty before the first.
  Matrix published_;
  double published_scale_ = 0;
  std::uint64_t times_published_ = 0;
  std::uint64_t checked_ = 0;     ///< Hessians taken when it was last compared with the truth
  bool heard_curvature_ = false;  ///< since then
  bool renumbered_ = false;       ///< the version told may also stand for another curvature
  bool spoke_ = false;            ///< in the current round
  std::uint64_t sequence_ = 0;    ///< of the latest activation
  ResidualBalancing watch_;
  std::vector<AgentEvent> events_;
  Cost cost_;
  Vector floor_;  ///< buffer
};

}  // namespace grove
