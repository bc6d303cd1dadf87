#pragma once

#include <cassert>

#include "grove/problem/objective.h"

namespace grove {

/// The base of an objective of the user's own that is no mean over samples: a convex function with
/// value, gradient and Hessian. The run counts every evaluation as one sample. It is called from
/// several threads at once.
class SmoothObjective : public Objective {
 public:
  /// Value at x; fills gradient and Hessian (both triangles) where not null.
  virtual double value(const Vector& x, Vector* gradient, Matrix* hessian) const = 0;

  Index samples() const final { return 1; }

  double evaluate(const Vector& x, Batch, Vector* gradient, Matrix* hessian,
                  ObjectiveScratch&) const final {
    return value(x, gradient, hessian);
  }

  /// The Hessian itself.
  Index second_derivative_count(Batch) const final { return dimension() * dimension(); }

  double evaluate_second_derivatives(const Vector& x, Batch, Vector* gradient,
                                     std::span<double> second_derivatives,
                                     ObjectiveScratch& scratch) const final {
    assert(static_cast<Index>(second_derivatives.size()) == dimension() * dimension());
    const double result = value(x, gradient, &scratch.part_hessian);
    Eigen::Map<Matrix>(second_derivatives.data(), dimension(), dimension()) = scratch.part_hessian;
    return result;
  }

  void weighted_hessian_times(std::span<const double> second_derivatives, Batch,
                              const Vector& direction, Vector& result,
                              ObjectiveScratch&) const final {
    result =
        Eigen::Map<const Matrix>(second_derivatives.data(), dimension(), dimension()) * direction;
  }
};

}  // namespace grove
