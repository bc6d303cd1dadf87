#pragma once

#include "grove/agent/workspace.h"
#include "grove/base/types.h"
#include "grove/coupling/quadratic_term.h"
#include "grove/local/local_model_kind.h"
#include "grove/problem/objective.h"
#include "grove/problem/regularizer.h"

namespace grove {

/// The function that an agent decreases in one activation, x being its point at the start:
///   f(v) + coupling_gradient'(v - x) + (v - x)' center_weight (v - x)/2 + r(v).
/// Newton systems are Hess f(v) + penalty_sum. The two terms differ in the linearized model only,
/// and there in their scalars.
struct LocalModel {
  const Objective& objective;
  const Vector& anchor;             ///< x_i at the start of the activation
  const Vector& coupling_gradient;  ///< of links and regularizer copy at the anchor: lin_i
  QuadraticTerm center_weight;      ///< c_i
  QuadraticTerm penalty_sum;        ///< mu deg_i + [i=q] mu_theta + eps_i, or the matrices' sum
  const Regularizer& regularizer;   ///< this agent's share of r; may be trivial

  /// Value of the model at v, minus f(v). Sets center_gradient = center_weight (v - anchor): the
  /// gradient of the smooth part is grad f(v) + coupling_gradient + center_gradient.
  double value_beyond_objective(const Vector& v, Vector& center_gradient,
                                Workspace& workspace) const {
    double smooth = 0;
    center_gradient.setZero(v.size());
    if (v != anchor) {
      workspace.displacement = v - anchor;
      center_weight.add_product(workspace.displacement, center_gradient);
      smooth = coupling_gradient.dot(workspace.displacement) +
               0.5 * workspace.displacement.dot(center_gradient);
    }
    return regularizer.trivial() ? smooth : smooth + regularizer.value(v);
  }

  /// Turns grad f(v) into the gradient of the model's smooth part.
  void add_coupling(const Vector& v, Vector& gradient, Workspace& workspace) const {
    workspace.displacement = v - anchor;
    gradient += coupling_gradient;
    center_weight.add_product(workspace.displacement, gradient);
  }

  /// step' penalty_sum step, given center_weight step.
  double penalty_along(const Vector& step, const Vector& center_product) const {
    return step.dot(center_product) +
           (penalty_sum.scalar - center_weight.scalar) * step.squaredNorm();
  }
};

}  // namespace grove
