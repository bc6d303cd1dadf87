#pragma once

#include <memory>

#include "grove/problem/objective.h"
#include "grove/problem/quadratic_model.h"
#include "grove/problem/regularizer.h"
#include "grove/problem/restricted_model.h"

namespace grove {

/// How far a point can be above the minimum of f + r.
struct Certificate {
  double value = 0;  ///< f + r at the point
  /// value - minimum is at most this; infinite where nothing is known. The bound is a duality gap,
  /// which does not change with the units of the columns.
  double gap = 0;
  bool exact = false;    ///< false: an estimate from the quadratic model of f, without a conjugate
  Vector step;           ///< to the minimizer of the quadratic model, of scaled coordinates too
  double decrement = 0;  ///< what the step decreases f + r by, to first order
};

/// Of r at x above its tangent plane at the target, whose slope is the subgradient nearest to
/// `slope`, that of f's model at the target, negated. What the subgradient misses counts twice
/// along the way to the minimizer of the model with that damping, which is at most the residual
/// over the damping farther than the target.
double subgradient_gap(const Regularizer& r, const Vector& x, const Vector& target,
                       const Vector& slope, const Vector& damping);
/// How many times farther than a damped Newton step the minimizer of the model may lie, to first
/// order; at most a thousand. `curvature` is step'H step.
double damping_stretch(const Vector& step, double curvature, const Vector& damping);
/// Of a Hessian with that diagonal, for subgradient_gap() and a model that has a minimizer. `usual`
/// is the usual size of an entry; 0: not known.
Vector model_damping(const Vector& diagonal, double usual);

/// Bounds gaps by a duality gap. The dual point is the slopes of all samples after a proximal
/// Newton step: they satisfy the dual constraints but for rounding and for slopes that no loss has,
/// which are added to the bound (docs/reference/certificate.md). One bound takes a Hessian over all
/// data and two passes.
class Certifier {
 public:
  /// Borrows both. `r` is separable.
  Certifier(const Objective& f, const Regularizer& r);

  Certificate at(const Vector& x);

  /// (y - x)'H(y - x)/2, H being the Hessian of the last certificate at x.
  double distance(const Vector& x, const Vector& y);
  /// The diagonal of that Hessian; empty beyond the dimension up to which it is stored.
  Vector hessian_diagonal() const;
  /// Whether f + r has a line of minimizers, judged from that Hessian up to 500 coefficients.
  bool is_flat(const Vector& x) const;

 private:
  void model_f(const Vector& x);
  void hessian_times(const Vector& direction, Vector& product) const;
  bool bound(const Vector& x, Certificate& certificate);
  bool minimize_restricted(const Vector& x, Vector& target);
  double missing_gap(const Vector& x, const Vector& target, const Vector& slope);
  double minimize_model(const Vector& x, Vector& target, Vector& slope);

  const Objective& f_;
  const Regularizer& r_;
  Matrix hessian_;                        ///< where it is stored
  std::unique_ptr<ModelHessian> damped_;  ///< of the quadratic model
  double usual_entry_;                    ///< of the diagonal of a Hessian; 0: not known
  double smoothness_ = 1;
  Vector gradient_, damping_;
  ObjectiveScratch scratch_;
  QuadraticScratch model_scratch_;
  RestrictedMinimizer restricted_;  ///< where no Hessian is stored
  std::vector<double> second_derivatives_;
};

}  // namespace grove
