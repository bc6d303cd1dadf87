#pragma once

#include "grove/base/types.h"
#include "grove/problem/objective.h"

namespace grove {

/// What gradient the local steps follow when there are several (math: section 2).
enum class LocalModelKind {
  augmented,   ///< of the perturbed augmented Lagrangian, eq. (6)
  linearized,  ///< as printed in eq. (10): penalty terms frozen at the start of the activation
};

/// The function an agent decreases in one activation:
///   gradient(v) = grad f(v) + pull + tether (v - anchor)
///   curvature   = Hess f(v) + stiffness I
struct LocalModel {
  const Objective& objective;
  const Vector& anchor;  ///< x_i when the activation began
  const Vector& pull;    ///< links and theta at the anchor: lin_i
  double stiffness = 0;  ///< mu deg_i + [i=q] mu_theta + eps_i
  double tether = 0;     ///< c_i: stiffness when augmented, eps_i when linearized

  /// Turns the gradient of f at v into the model's.
  void add_coupling(const Vector& v, Vector& gradient) const {
    gradient += pull + tether * (v - anchor);
  }
};

}  // namespace grove
