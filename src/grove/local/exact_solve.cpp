#include "grove/local/exact_solve.h"

#include "grove/local/halving.h"
#include "grove/local/newton.h"

namespace grove {
namespace {

constexpr int max_newton_steps = 100;  // damped Newton on a strongly convex model needs far fewer

}  // namespace

/// Newton with backtracking. At least one step is taken, so that a fixed tolerance limits the
/// accuracy of a round and not that of the run.
void ExactSolver::solve(const LocalModel& model, const SolverTurn&, Workspace& workspace,
                        Cost& cost) {
  Vector& v = workspace.point;
  for (int step = 0; step < max_newton_steps; ++step) {
    const double value = model.objective.evaluate(v, Batch::all(), &workspace.gradient,
                                                  &workspace.hessian, workspace.objective) +
                         model.value_beyond_objective(v, workspace.product, workspace);
    cost.gradient_samples += model.objective.samples();
    cost.hessian_samples += model.objective.samples();
    model.add_coupling(v, workspace.gradient, workspace);
    if (step > 0 && workspace.gradient.norm() <= tolerance_) return;

    workspace.trial_gradient = workspace.gradient;
    const bool solved =
        solve_shifted(workspace.hessian, model.penalty_sum.scalar, workspace.gradient, workspace.product);
    cost.solves += 1;
    if (!solved) {
      v -= workspace.gradient;  // NaN: no length of such a step is a way out
      return;
    }
    const double slope = workspace.trial_gradient.dot(workspace.gradient);
    // Decreases below the value's rounding cannot be told from none: then the full step is taken.
    const bool at_rounding = slope <= 1e-15 * (1 + std::abs(value));
    double length = 1;
    for (int halving = 0; halving < max_halvings; ++halving, length *= 0.5) {
      workspace.trial = v - length * workspace.gradient;
      if (at_rounding) break;
      const double tried = model.objective.evaluate(workspace.trial, Batch::all(), nullptr, nullptr,
                                                    workspace.objective) +
                           model.value_beyond_objective(workspace.trial, workspace.product, workspace);
      if (tried <= value - 1e-4 * length * slope) break;
    }
    cost.damped_steps += length < 1;
    v = workspace.trial;
    if (at_rounding) return;
  }
}

}  // namespace grove
