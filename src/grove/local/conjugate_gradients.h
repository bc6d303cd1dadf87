#pragma once

#include <cmath>

#include "grove/base/types.h"

namespace grove {

struct ConjugateLimits {
  double tolerance = 0;  ///< on the norm of the residual
  Index steps = 0;       ///< one product each
};

/// Buffers of conjugate gradients; keep them and nothing is allocated when warm.
struct ConjugateScratch {
  Vector residual, preconditioned, direction, product;
};

/// Solves M p = right from p = 0 for a symmetric positive definite M, given as
/// times(direction, product), with a preconditioner given as precondition(residual, result).
/// Every p on the way is a descent direction of the model p'Mp/2 - right'p. False if the limit of
/// steps came first, or the numbers are no longer finite.
template <class Times, class Precondition>
bool conjugate_gradients(const Times& times, const Precondition& precondition, const Vector& right,
                         const ConjugateLimits& limits, ConjugateScratch& scratch, Vector& p) {
  p.setZero(right.size());
  scratch.residual = right;
  if (scratch.residual.norm() <= limits.tolerance) return true;
  precondition(scratch.residual, scratch.preconditioned);
  scratch.direction = scratch.preconditioned;
  double squares = scratch.residual.dot(scratch.preconditioned);
  for (Index k = 0; k < limits.steps; ++k) {
    times(scratch.direction, scratch.product);
    const double direction_curvature = scratch.direction.dot(scratch.product);
    if (!(direction_curvature > 0) || !std::isfinite(direction_curvature))
      return false;  // rounding ate a small eigenvalue
    const double length = squares / direction_curvature;
    p += length * scratch.direction;
    scratch.residual -= length * scratch.product;
    if (scratch.residual.norm() <= limits.tolerance) return true;
    precondition(scratch.residual, scratch.preconditioned);
    const double next = scratch.residual.dot(scratch.preconditioned);
    scratch.direction = scratch.preconditioned + (next / squares) * scratch.direction;
    squares = next;
  }
  return false;
}

}  // namespace grove
