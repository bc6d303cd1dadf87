#pragma once

#include <optional>

#include "grove/agent/cost.h"
#include "grove/agent/workspace.h"
#include "grove/base/random.h"
#include "grove/local/fresh_system.h"
#include "grove/local/kept_hessian.h"
#include "grove/local/local_model.h"
#include "grove/local/local_solver.h"

namespace grove {

/// The whole Hessian (of all samples, or of the sampling's batch), or a cheaper approximation.
enum class HessianDetail { whole, sketch };

/// When a minimization of a local model stops. Decreases are predicted by the quadratic model.
struct NewtonBudget {
  int steps = 1;                     ///< at most
  bool stop_when_quadratic = false;  ///< stop after a step that decreased the model as predicted
  double decrease = 0;  ///< stop when a step predicts less than this share of the first decrease
  double sketch = 0;    ///< use sketches while steps predict more than this share of the first
  std::optional<double> gradient_tolerance;  ///< stop at this norm, but not before the first step
};

/// The Newton loop of every local solver that has a Hessian: proximal Newton steps with
/// backtracking on one agent's local models, activation after activation
/// (docs/reference/sampling.md). The kinds differ in where Newton systems come from: a Hessian that
/// is kept for as long as it passes the secant test, or a new one in every step.
class ProximalNewton final : public LocalSolver {
 public:
  ProximalNewton(const ProximalNewtonSteps& options, const Objective& objective);
  ProximalNewton(const NewtonSteps& options, const Objective& objective);
  ProximalNewton(const ExactSolve& options, const Objective& objective);

  void solve(const LocalModel& model, const SolverTurn& turn, Workspace& workspace,
             Cost& cost) override;

  /// From workspace.point. Every step decreases the model, or its estimate on the step's batch, or
  /// is at the level of rounding; only steps on MiniBatches have no such safeguard. Returns the
  /// number of steps.
  int minimize(const LocalModel& model, const NewtonBudget& budget, const SolverTurn& turn,
               Workspace& workspace, Cost& cost);

  // Of solvers that keep a Hessian:
  /// Computes a Hessian of f at workspace.point if there is none that passed the secant test.
  void ensure_hessian(HessianDetail detail, const Objective& objective, const SolverTurn& turn,
                      Workspace& workspace, Cost& cost);
  const Matrix& hessian() const { return hessian_.hessian(); }
  std::uint64_t hessians_computed() const { return hessian_.computed(); }

  void save(ByteWriter& writer) const override;
  void load(ByteReader& reader) override;

 private:
  /// f over some samples at a point, and the other terms of the model there.
  struct Evaluation {
    Vector at;
    double value = 0;  ///< of f
    Vector gradient;   ///< of f
    Vector center_gradient;
    double beyond_objective = 0;

    double model_value() const { return value + beyond_objective; }
  };
  /// A step that the quadratic model of f at a point proposes.
  struct Proposal {
    Vector target;
    double predicted = 0;       ///< decrease to first order: twice the decrease of a quadratic
    double step_curvature = 0;  ///< step'system step; of kept Hessians only
  };
  struct Job;
  struct SmoothGradient;

  ProximalNewton(const Sampling& sampling, const Objective& objective);

  int step_on_all(Job& job, int steps);
  int step_on_minibatches(Job& job, const MiniBatches& sizes);
  int step_with_anchors(Job& job);
  int step_on_growing_batches(Job& job);

  void evaluate(Job& job, Batch batch, Evaluation& at) const;
  double evaluate_in_groups(Job& job, Batch batch, Evaluation& mean);
  void evaluate_all(Job& job);
  bool is_stationary(const Job& job) const;
  void prepare_hessian(Job& job, HessianDetail least = HessianDetail::whole);
  void compute_fresh(Job& job, Batch batch);
  void propose(Job& job, const Vector& at, const SmoothGradient& gradient, Proposal& proposal);
  void anchored_steps(Job& job, int steps);
  const Vector& anchored_gradient(Job& job, const Vector& at);
  bool is_noisy(Job& job);
  double advance(Job& job, Batch batch, Evaluation& here);
  void accept(Job& job, Evaluation& here, double step_curvature);
  Batch draw(Job& job, Purpose purpose, Index size) const;

  Sampling sampling_;
  NewtonBudget budget_;  ///< of solve(); its steps are a limit beside those of the activation
  bool takes_all_steps_ = false;  ///< solve() ignores the number of steps of the activation
  Index dimension_;
  Index samples_;
  Index gradient_batch_;
  Index hessian_batch_;
  std::optional<FreshSystem> fresh_;  ///< a new Hessian in every step; none: hessian_ is kept
  KeptHessian hessian_;
  HessianDetail detail_ = HessianDetail::whole;  ///< of hessian_; whole between activations
  bool hessian_failed_ = false;                  ///< the secant test, in the last step
  Evaluation last_;  ///< over all samples, where the latest activation ended

  // Buffers, without meaning between activations.
  Evaluation next_;            ///< where a step may lead
  Evaluation sampled_;         ///< over a batch
  Proposal proposal_, later_;  ///< the present step; a later one on a batch
  Vector anchored_;            ///< a gradient over a batch, corrected
};

}  // namespace grove
