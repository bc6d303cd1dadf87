#include "grove/methods/newton_steps.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "grove/methods/batch.h"
#include "grove/methods/newton.h"

namespace grove {
namespace {

constexpr int max_halvings = 40;

/// Rounding in the value of a model must not look like an increase.
double slack(double value) { return 1e-10 * std::abs(value); }

/// v -= (Hess f + stiffness I)^{-1} gradient of the model, eq. (10), from what was evaluated at v.
void step(const LocalModel& model, Workspace& workspace, Cost& cost) {
  model.add_coupling(workspace.point, workspace.gradient);
  solve_shifted(workspace.hessian, model.stiffness, workspace.gradient);
  workspace.point -= workspace.gradient;
  cost.solves += 1;
}

/// The model's value at v over the whole shard; gradient and Hessian of f too if wanted.
double evaluate(const LocalModel& model, bool derivatives, Workspace& workspace, Cost& cost) {
  const double value = model.objective.evaluate(
      workspace.point, Batch::all(), derivatives ? &workspace.gradient : nullptr,
      derivatives ? &workspace.hessian : nullptr, workspace.objective);
  if (derivatives) {
    cost.gradient_samples += model.objective.samples();
    cost.hessian_samples += model.objective.samples();
  }
  return value + model.coupling_value(workspace.point);
}

/// Evaluates at v and, while the model is higher there than at the point the step came from
/// (workspace.trial), goes halfway back: Huber's curvature vanishes far out, and so does that of a
/// logistic model that is sure of itself, so that a full step may overshoot.
double evaluate_guarded(const LocalModel& model, bool derivatives, double before,
                        Workspace& workspace, Cost& cost) {
  double value = evaluate(model, derivatives, workspace, cost);
  if (std::isinf(before)) return value;  // nothing to guard: no step was taken yet
  for (int k = 0; k < max_halvings && !(value <= before + slack(before)); ++k) {
    workspace.point = 0.5 * (workspace.point + workspace.trial);
    value = evaluate(model, derivatives, workspace, cost);
  }
  return value;
}

Batch drawn(Purpose purpose, Index size, std::uint64_t step, const LocalModel& model,
            const SolverTurn& turn, Workspace& workspace) {
  if (size == model.objective.samples()) return Batch::all();
  draw_batch(RandomKey{.seed = turn.seed,
                       .purpose = purpose,
                       .agent = turn.agent.value,
                       .round = turn.activation.round,
                       .step = step},
             size, model.objective.samples(), workspace);
  return Batch::of(workspace.rows);
}

}  // namespace

void NewtonStepsSolver::solve(const LocalModel& model, const SolverTurn& turn, Workspace& workspace,
                              Cost& cost) {
  if (const auto* sizes = std::get_if<MiniBatches>(&sampling_))
    solve_on_batches(*sizes, model, turn, workspace, cost);
  else
    solve_on_all(model, turn.activation.local_steps, workspace, cost);
}

/// The paper's, without a safeguard: a sampled value cannot tell an overshoot from noise.
void NewtonStepsSolver::solve_on_batches(const MiniBatches& sizes, const LocalModel& model,
                                         const SolverTurn& turn, Workspace& workspace,
                                         Cost& cost) const {
  const Index gradient_size = std::min(sizes.gradient, model.objective.samples());
  const Index hessian_size = std::min(sizes.hessian, model.objective.samples());
  for (int k = 0; k < turn.activation.local_steps; ++k) {
    const auto number = static_cast<std::uint64_t>(k);
    const Batch for_gradient =
        drawn(Purpose::gradient_batch, gradient_size, number, model, turn, workspace);
    model.objective.evaluate(workspace.point, for_gradient, &workspace.gradient, nullptr,
                             workspace.objective);
    const Batch for_hessian =
        drawn(Purpose::hessian_batch, hessian_size, number, model, turn, workspace);
    model.objective.evaluate(workspace.point, for_hessian, nullptr, &workspace.hessian,
                             workspace.objective);
    cost.gradient_samples += gradient_size;
    cost.hessian_samples += hessian_size;
    step(model, workspace, cost);
  }
}

/// The value that guards a step comes with the next step's derivatives; only the last needs a pass
/// of its own.
void NewtonStepsSolver::solve_on_all(const LocalModel& model, int steps, Workspace& workspace,
                                     Cost& cost) const {
  double value = std::numeric_limits<double>::infinity();
  for (int k = 0; k < steps; ++k) {
    value = evaluate_guarded(model, /*derivatives=*/true, value, workspace, cost);
    workspace.trial = workspace.point;
    step(model, workspace, cost);
  }
  evaluate_guarded(model, /*derivatives=*/false, value, workspace, cost);
}

}  // namespace grove
