#include "grove/local/newton_steps.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "grove/local/batch.h"
#include "grove/local/halving.h"
#include "grove/local/newton.h"

namespace grove {
namespace {

/// Rounding in the value of a model must not look like an increase.
double slack(double value) { return 1e-10 * std::abs(value); }

/// How exactly a system is solved by products, relative to its right-hand side; as the gradient
/// falls within an activation, so does the error, and Newton's method stays faster than linear.
constexpr double forcing = 0.01;
constexpr double least_forcing = 1e-6;

}  // namespace

/// v -= (Hess f + stiffness I)^{-1} gradient of the model, eq. (10), from what was evaluated at v.
/// False if there is none: v is NaN then.
bool NewtonStepsSolver::step(const LocalModel& model, Batch for_hessian, Workspace& workspace,
                             Cost& cost) {
  bool solved = true;
  model.add_coupling(workspace.point, workspace.gradient, workspace);
  if (by_products_) {
    const double norm = workspace.gradient.norm();
    first_norm_ = std::max(first_norm_, norm);
    const double share =
        norm > 0 ? std::clamp(norm / first_norm_, least_forcing, forcing) : forcing;
    system_.solve(model, for_hessian, share * norm, workspace.objective, workspace.gradient);
  } else {
    solved = solve_shifted(workspace.hessian, model.penalty_sum.scalar, workspace.gradient, workspace.product);
  }
  workspace.point -= workspace.gradient;
  cost.solves += 1;
  return solved;
}

/// Value of f over the batch at v; makes the Hessian there what step() solves with.
double NewtonStepsSolver::linearize(const LocalModel& model, Batch batch, Vector* gradient,
                                    Workspace& workspace, Cost& cost) {
  const Index size =
      batch.whole() ? model.objective.samples() : static_cast<Index>(batch.rows().size());
  cost.hessian_samples += size;
  if (gradient) cost.gradient_samples += size;
  if (by_products_)
    return system_.take(model.objective, workspace.point, batch, gradient, workspace.objective);
  return model.objective.evaluate(workspace.point, batch, gradient, &workspace.hessian,
                                  workspace.objective);
}

/// The model's value at v over the whole shard; gradient and Hessian of f too if wanted.
double NewtonStepsSolver::evaluate(const LocalModel& model, bool derivatives, Workspace& workspace,
                                   Cost& cost) {
  const double value = derivatives
                           ? linearize(model, Batch::all(), &workspace.gradient, workspace, cost)
                           : model.objective.evaluate(workspace.point, Batch::all(), nullptr,
                                                      nullptr, workspace.objective);
  return value + model.value_beyond_objective(workspace.point, workspace.product, workspace);
}

/// Evaluates at v and, while the model is higher there than at the point the step came from
/// (workspace.trial), goes halfway back: Huber's curvature vanishes far out, and so does that of a
/// logistic model that is sure of itself, so that a full step may overshoot.
double NewtonStepsSolver::evaluate_guarded(const LocalModel& model, bool derivatives, double before,
                                           Workspace& workspace, Cost& cost) {
  double value = evaluate(model, derivatives, workspace, cost);
  if (std::isinf(before)) return value;  // nothing to guard: no step was taken yet
  bool damped = false;
  for (int k = 0; k < max_halvings && !(value <= before + slack(before)); ++k) {
    damped = true;
    workspace.point = 0.5 * (workspace.point + workspace.trial);
    value = evaluate(model, derivatives, workspace, cost);
  }
  cost.damped_steps += damped;
  return value;
}

NewtonStepsSolver::NewtonStepsSolver(const NewtonSteps& options, const Objective& objective)
    : sampling_(options.sampling),
      dimension_(objective.dimension()),
      by_products_(objective.dimension() > options.largest_stored) {}

void NewtonStepsSolver::save(ByteWriter& writer) const {
  if (by_products_) system_.save(writer);
}

void NewtonStepsSolver::load(ByteReader& reader) {
  if (by_products_) system_.load(reader, dimension_);
}

void NewtonStepsSolver::solve(const LocalModel& model, const SolverTurn& turn, Workspace& workspace,
                              Cost& cost) {
  first_norm_ = 0;
  if (const auto* sizes = std::get_if<MiniBatches>(&sampling_))
    solve_on_batches(*sizes, model, turn, workspace, cost);
  else
    solve_on_all(model, turn.activation.local_steps, workspace, cost);
}

/// The paper's, without a safeguard: a sampled value cannot tell an overshoot from noise.
void NewtonStepsSolver::solve_on_batches(const MiniBatches& sizes, const LocalModel& model,
                                         const SolverTurn& turn, Workspace& workspace, Cost& cost) {
  const Index samples = model.objective.samples();
  const Index gradient_size = std::min(sizes.gradient, samples);
  const Index hessian_size = std::min(sizes.hessian, samples);
  for (int k = 0; k < turn.activation.local_steps; ++k) {
    const auto number = static_cast<std::uint64_t>(k);
    const Batch for_gradient = draw_batch_or_all(batch_key(turn, Purpose::gradient_batch, number),
                                                 gradient_size, samples, workspace);
    model.objective.evaluate(workspace.point, for_gradient, &workspace.gradient, nullptr,
                             workspace.objective);
    const Batch for_hessian = draw_batch_or_all(batch_key(turn, Purpose::hessian_batch, number),
                                                hessian_size, samples, workspace);
    linearize(model, for_hessian, nullptr, workspace, cost);
    cost.gradient_samples += gradient_size;
    if (!step(model, for_hessian, workspace, cost)) return;
  }
}

/// The value that guards a step comes with the next step's derivatives; only the last needs a pass
/// of its own.
void NewtonStepsSolver::solve_on_all(const LocalModel& model, int steps, Workspace& workspace,
                                     Cost& cost) {
  double value = std::numeric_limits<double>::infinity();
  for (int k = 0; k < steps; ++k) {
    value = evaluate_guarded(model, /*derivatives=*/true, value, workspace, cost);
    workspace.trial = workspace.point;
    if (!step(model, Batch::all(), workspace, cost)) return;
  }
  evaluate_guarded(model, /*derivatives=*/false, value, workspace, cost);
}

}  // namespace grove
