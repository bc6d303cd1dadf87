#pragma once

#include "grove/agent/cost.h"
#include "grove/agent/workspace.h"
#include "grove/base/random.h"
#include "grove/local/local_model.h"
#include "grove/local/kept_hessian.h"
#include "grove/local/local_solver.h"

namespace grove {

/// Of a Hessian: of all samples (or those of the sampling's batch), or something near it that is
/// cheaper.
enum class HessianDetail { whole, sketch };

struct NewtonBudget {
  int steps = 1;  ///< at most
  bool stop_when_quadratic =
      false;              ///< stop once the model was as quadratic as Newton's method assumes
  double decrease = 0.0;  ///< stop when a step promises less than this share of the first's predicted
  double sketch = 0.0;    ///< sketches of Hessians do while steps predicted more than this share
};

/// Newton steps with backtracking (proximal Newton where r is not trivial) on one agent's local
/// models, activation after activation (docs/methods/sampling.md). What one activation has learned
/// serves the next: value and gradient of f where it ended, and the Hessian for as long as it
/// secant_test what gradients do.
class ProximalNewton final : public LocalSolver {
 public:
  /// Not for MiniBatches, which are the paper's literally: NewtonStepsSolver.
  ProximalNewton(const ProximalNewtonSteps& options, const Objective& objective);

  /// As many steps as the activation allows.
  void solve(const LocalModel& model, const SolverTurn& turn, Workspace& workspace,
             Cost& cost) override;

  /// From workspace.point. Every step decreases the model, or its estimate on the step's batch, or
  /// is at the level of rounding. Returns the number of steps.
  int minimize(const LocalModel& model, const NewtonBudget& budget, const SolverTurn& turn,
               Workspace& workspace, Cost& cost);

  /// Makes sure of a Hessian of f, or more than that: computed at workspace.point if there is none, or
  /// none that holds.
  void ensure_hessian(HessianDetail detail, const Objective& objective, const SolverTurn& turn,
                    Workspace& workspace, Cost& cost);
  const Matrix& hessian() const { return hessian_.hessian(); }  ///< that steps use
  std::uint64_t hessians_computed() const { return hessian_.computed(); }

  void save(ByteWriter& writer) const override;
  void load(ByteReader& reader) override;

 private:
  /// f over some samples, and beside it, once it is coupling_added, what else the model has there.
  struct Evaluation {
    Vector at;
    double value = 0;
    Vector gradient;
    Vector center_gradient;      ///< coupling (at - anchor)
    double beyond_objective = 0;  ///< of the model's value

    double model_value() const { return value + beyond_objective; }
  };
  /// A step that the quadratic model of f at a point proposes.
  struct Proposal {
    Vector target;
    double predicted = 0;  ///< the decrease, to first order: twice what a quadratic gains
    double step_curvature = 0;     ///< step'system step
  };
  struct Job;

  int step_on_all(Job& job, int steps);
  int step_with_anchors(Job& job);
  int step_on_growing_batches(Job& job);

  void evaluate(Job& job, Batch batch, Evaluation& at) const;
  double evaluate_in_groups(Job& job, Batch batch, Evaluation& mean);
  void evaluate_all(Job& job);
  void prepare_hessian(Job& job, HessianDetail least = HessianDetail::whole);
  struct SmoothGradient;
  void propose(Job& job, const Vector& at, const SmoothGradient& slope, Proposal& proposal);
  void anchored_steps(Job& job, int steps);
  const Vector& anchored_gradient(Job& job, const Vector& at);
  bool is_noisy(Job& job);
  double advance(Job& job, Batch batch, Evaluation& here);
  void accept(Job& job, Evaluation& here, double step_curvature);
  Batch draw(Job& job, Purpose purpose, Index size) const;

  Sampling sampling_;
  bool stop_when_quadratic_;
  Index dimension_;
  Index samples_;
  Index gradient_batch_;
  Index hessian_batch_;
  KeptHessian hessian_;
  HessianDetail detail_ = HessianDetail::whole;  ///< of it; whole between activations
  bool hessian_failed_ = false;  ///< it did not explain a step: take another
  Evaluation last_;                ///< over all samples, where the latest activation ended

  // Buffers, of no meaning between activations.
  Evaluation next_;            ///< where a step may lead
  Evaluation sampled_;         ///< over a batch
  Proposal proposal_, later_;  ///< the step in hand; one that followed it on a batch
  Vector anchored_;            ///< a gradient over a batch, corrected
};

}  // namespace grove
