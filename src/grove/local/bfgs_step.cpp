#include "grove/local/bfgs_step.h"

#include <tuple>

#include "grove/local/newton.h"

namespace grove {

// J starts at L I: a first step no longer than a safe gradient step.
BfgsStepSolver::BfgsStepSolver(const Objective& objective)
    : hessian_(objective.smoothness() *
               Matrix::Identity(objective.dimension(), objective.dimension())),
      last_x_(Vector::Zero(objective.dimension())),
      last_gradient_(Vector::Zero(objective.dimension())) {}

void BfgsStepSolver::solve(const LocalModel& model, const SolverTurn&, Workspace& workspace,
                           Cost& cost) {
  model.objective.evaluate(workspace.point, Batch::all(), &workspace.gradient, nullptr,
                           workspace.objective);
  cost.gradient_samples += model.objective.samples();
  learn(workspace.point, workspace.gradient, workspace.trial);
  model.add_coupling(workspace.point, workspace.gradient, workspace);
  workspace.hessian = hessian_;
  // Without a solution the step is NaN, and so the point.
  std::ignore = solve_shifted(workspace.hessian, model.penalty_sum.scalar, workspace.gradient,
                              workspace.product);
  workspace.point -= workspace.gradient;
  cost.solves += 1;
}

/// J += w w'/(w's) - J s s'J/(s'J s). An agent's x moves only when it works, so the gradient of
/// this activation is the one at the end of the last: one gradient per activation is enough.
void BfgsStepSolver::learn(const Vector& x, const Vector& gradient, Vector& predicted) {
  if (has_last_) {
    Vector& moved = last_x_;
    Vector& change = last_gradient_;
    moved = x - last_x_;
    change = gradient - last_gradient_;
    const double agreement = change.dot(moved);
    // Below rounding of the gradients the pair is noise, and J must stay positive definite.
    if (agreement > 1e-12 * moved.norm() * gradient.norm() && moved.norm() > 0) {
      predicted.noalias() = hessian_ * moved;
      const double expected = predicted.dot(moved);
      hessian_.noalias() += change * (change.transpose() / agreement);
      hessian_.noalias() -= predicted * (predicted.transpose() / expected);
    }
  }
  last_x_ = x;
  last_gradient_ = gradient;
  has_last_ = true;
}

void BfgsStepSolver::save(ByteWriter& writer) const {
  writer.put(std::span<const double>(hessian_.data(), hessian_.size()));
  writer.put(last_x_);
  writer.put(last_gradient_);
  writer.put(has_last_);
}

void BfgsStepSolver::load(ByteReader& reader) {
  reader.get(std::span<double>(hessian_.data(), hessian_.size()));
  reader.get(last_x_);
  reader.get(last_gradient_);
  reader.get(has_last_);
}

}  // namespace grove
