#include "grove/methods/coupled_newton.h"

#include <cmath>

#include <Eigen/Cholesky>

#include "grove/problem/quadratic_model.h"
#include "grove/problem/reference.h"

namespace grove {
namespace {

constexpr int max_halvings = 40;

/// The part of the model's value that is not f's.
double rest_of_value(const CoupledModel& model, const Vector& v) {
  const Vector moved = v - model.anchor;
  const double coupling = model.pull.dot(moved) + 0.5 * moved.dot(model.coupling * moved);
  return model.regularizer.trivial() ? coupling : coupling + model.regularizer.value(v);
}

/// Where the quadratic model of the smooth part at v, plus r, is smallest.
Vector newton_target(const CoupledModel& model, const Vector& v, const Vector& gradient,
                     const Matrix& system) {
  if (model.regularizer.trivial()) {
    const Eigen::LLT<Matrix> factor(system);
    if (factor.info() == Eigen::Success) return v - factor.solve(gradient);
    return v - gradient / system.diagonal().cwiseAbs().sum();  // rounding ate the small eigenvalues
  }
  const DenseCurvature curvature(system, Vector::Zero(v.size()));
  const double smoothness = system.diagonal().sum();
  const double residual = stationarity(v, gradient, model.regularizer, smoothness);
  return minimize({.center = v,
                   .gradient = gradient,
                   .curvature = curvature,
                   .regularizer = model.regularizer,
                   .smoothness = smoothness,
                   .tolerance = 1e-6 * residual});
}

}  // namespace

int minimize_coupled(const CoupledModel& model, const NewtonBudget& budget, Workspace& workspace,
                     Cost& cost) {
  Vector& v = workspace.point;
  double first_promise = 0;
  for (int step = 1; step <= budget.steps; ++step) {
    const double value = model.objective.evaluate(v, Batch::all(), &workspace.gradient,
                                                  &workspace.hessian, workspace.objective) +
                         rest_of_value(model, v);
    cost.gradient_samples += model.objective.samples();
    cost.hessian_samples += model.objective.samples();
    workspace.gradient += model.pull + model.coupling * (v - model.anchor);
    const Vector target =
        newton_target(model, v, workspace.gradient, workspace.hessian + model.coupling);
    cost.solves += 1;
    const Vector direction = target - v;

    double slope = -workspace.gradient.dot(direction);  // the promised decrease, to first order
    if (!model.regularizer.trivial())
      slope += model.regularizer.value(v) - model.regularizer.value(target);
    // Decreases below the value's rounding cannot be told from none: then the full step is taken.
    if (!(slope > 1e-11 * (1e-300 + std::abs(value)))) {
      v = target;
      return step;
    }
    double length = 1, tried = value;
    for (int halving = 0; halving < max_halvings; ++halving, length *= 0.5) {
      workspace.trial = v + length * direction;
      tried = model.objective.evaluate(workspace.trial, Batch::all(), nullptr, nullptr,
                                       workspace.objective) +
              rest_of_value(model, workspace.trial);
      if (tried <= value - 1e-4 * length * slope) break;
    }
    v = length == 1 ? target : workspace.trial;  // a whole step keeps the exact zeros of the target
    // On a quadratic a Newton step gains half of its slope, and nothing is left to gain.
    const bool quadratic = std::abs((value - tried) / (0.5 * slope) - 1) < 0.1;
    first_promise = step == 1 ? slope : first_promise;
    if ((budget.thrifty && quadratic) || slope < budget.decrease * first_promise) return step;
  }
  return budget.steps;
}

}  // namespace grove
