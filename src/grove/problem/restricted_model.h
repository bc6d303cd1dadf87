#pragma once

#include <vector>

#include "grove/problem/restricted_hessian.h"

namespace grove {

/// A minimization of gradient'(u - x) + (u - x)'(H + damping I)(u - x)/2 + r(u) over u, H being the
/// Hessian of an f that restricts().
struct RestrictedModel {
  const Objective& f;
  std::span<const double> second_derivatives;  ///< of f's samples at x
  const Vector& x;
  const Vector& gradient;
  const Regularizer& regularizer;
  double smoothness;  ///< scale of the stationarity measure
  double damping;
  double tolerance;  ///< stationarity of the model, on the coordinates in work
};

/// Adds the coordinates that r does not hold, a part at a time, until there are no more.
class RestrictedMinimizer {
 public:
  const Vector& minimize(const RestrictedModel& model);

 private:
  ActiveSet active_;
  RestrictedRows rows_;
  QuadraticScratch quadratic_;
  ObjectiveScratch scratch_;
  Vector u_, slope_, step_, part_, part_slope_, diagonal_;
};

}  // namespace grove
