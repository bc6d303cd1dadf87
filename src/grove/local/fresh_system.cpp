#include "grove/local/fresh_system.h"

#include <algorithm>
#include <tuple>

#include "grove/local/newton.h"

namespace grove {
namespace {

/// Accuracy of conjugate gradients relative to the right-hand side. It falls with the gradient
/// within an activation, so that Newton's method stays faster than linear.
constexpr double forcing = 0.01;
constexpr double least_forcing = 1e-6;

}  // namespace

void FreshSystem::compute(const Objective& objective, const Vector& at, Batch batch,
                          Workspace& workspace) {
  if (by_products_)
    products_.take(objective, at, batch, nullptr, workspace.objective);
  else
    objective.evaluate(at, batch, nullptr, &workspace.hessian, workspace.objective);
}

void FreshSystem::solve(const LocalModel& model, Batch batch, const Vector& at, Vector& gradient,
                        Vector& target, Workspace& workspace) {
  if (by_products_) {
    const double norm = gradient.norm();
    largest_norm_ = std::max(largest_norm_, norm);
    const double share =
        norm > 0 ? std::clamp(norm / largest_norm_, least_forcing, forcing) : forcing;
    products_.solve(model, batch, share * norm, workspace.objective, gradient);
  } else {
    std::ignore =
        solve_shifted(workspace.hessian, model.penalty_sum.scalar, gradient, workspace.product);
  }
  target = at - gradient;
}

void FreshSystem::save(ByteWriter& writer) const {
  if (by_products_) products_.save(writer);
}

void FreshSystem::load(ByteReader& reader) {
  if (by_products_) products_.load(reader, dimension_);
}

}  // namespace grove
