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

  /// What the coupling adds to the value of f at v: its gradient is what add_coupling adds.
  double coupling_value(const Vector& v) const {
    double linear = 0, squared = 0;
    for (Index k = 0; k < v.size(); ++k) {
      const double moved = v[k] - anchor[k];
      linear += pull[k] * moved;
      squared += moved * moved;
    }
    return linear + 0.5 * tether * squared;
  }
};

}  // namespace grove
