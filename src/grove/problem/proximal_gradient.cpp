#include "grove/problem/proximal_gradient.h"

#include <cmath>

#include <fmt/format.h>

namespace grove {
namespace {

constexpr int most_steps = 50'000;
constexpr double good_enough =
    1e-9;  ///< relative residual that may end a search that is out of steps

}  // namespace

Result<ReferenceSolution> solve_by_proximal_gradient(const Objective& objective,
                                                     const Regularizer& regularizer,
                                                     const ReferenceOptions& options) {
  const double smoothness = objective.smoothness() > 0 ? objective.smoothness() : 1;
  const double step = 1 / smoothness;
  ObjectiveScratch scratch;
  Vector start, gradient, next;
  regularizer.prox(step, Vector::Zero(objective.dimension()), start);
  const auto gradient_at = [&](const Vector& x) {
    return objective.evaluate(x, Batch::all(), &gradient, nullptr, scratch);
  };
  const auto solution_at = [&](const Vector& x, double residual, int iterations) {
    const double value = objective.evaluate(x, Batch::all(), nullptr, nullptr, scratch);
    return ReferenceSolution{x, value + regularizer.value(x), residual, iterations};
  };

  gradient_at(start);
  const double first = stationarity(start, gradient, regularizer, smoothness);
  if (!std::isfinite(first))
    return Error{"reference", "the objective is not finite at the start; expected scaled features"};
  Vector x = start, ahead = start, best = start;
  double momentum = 1, least = first;
  int steps = 0;
  for (; steps < most_steps && least > options.tolerance * first; ++steps) {
    gradient_at(ahead);
    regularizer.prox(step, ahead - step * gradient, next);
    // At the point ahead the step is the residual, which a pass over the data has just paid for.
    const double residual = smoothness * (ahead - next).norm();
    if (residual < least) {
      least = residual;
      best = ahead;
    }
    const bool uphill = (ahead - next).dot(next - x) > 0;
    const double grown = uphill ? 1 : 0.5 * (1 + std::sqrt(1 + 4 * momentum * momentum));
    ahead = uphill ? next : Vector(next + (momentum - 1) / grown * (next - x));
    momentum = grown;
    x = next;
  }
  gradient_at(x);
  const double last = stationarity(x, gradient, regularizer, smoothness);
  if (last < least && last <= good_enough * first) return solution_at(x, last, steps);
  if (least <= good_enough * first) {
    // A point ahead need not satisfy the constraints of r; the prox of its step does.
    gradient_at(best);
    regularizer.prox(step, best - step * gradient, next);
    return solution_at(next, least, steps);
  }
  return Error{"reference",
               fmt::format("no optimum found in {} proximal gradient steps (optimality residual "
                           "still {:.1e} of the first); scale the features or add --l2, or use "
                           "--no-reference",
                           steps, least / first)};
}

}  // namespace grove
