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
  Index curvature_count(Batch) const final { return dimension() * dimension(); }

  double evaluate_curvatures(const Vector& x, Batch, Vector* gradient, std::span<double> curvatures,
                             ObjectiveScratch& scratch) const final {
    assert(static_cast<Index>(curvatures.size()) == dimension() * dimension());
    const double result = value(x, gradient, &scratch.part_hessian);
    Eigen::Map<Matrix>(curvatures.data(), dimension(), dimension()) = scratch.part_hessian;
    return result;
  }

  void weighted_hessian_times(std::span<const double> curvatures, Batch, const Vector& direction,
                              Vector& result, ObjectiveScratch&) const final {
    result = Eigen::Map<const Matrix>(curvatures.data(), dimension(), dimension()) * direction;
  }
};

}  // namespace grove
