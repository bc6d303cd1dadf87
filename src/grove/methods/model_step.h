#pragma once

#include "grove/problem/regularizer.h"

namespace grove {

/// The minimizer s of g's + s'Hs/2 + r(z + s), for a positive semidefinite H (both triangles) and a
/// separable r. Without r by a factorization of H scaled to a unit diagonal, whose eigenvalues are
/// kept above 1e-12 of the largest: along flat directions the step is long, but finite.
Vector model_step(const Matrix& hessian, const Vector& gradient, const Vector& point,
                  const Regularizer& regularizer);

/// Whether H in single precision gives the steps of H to a few digits: scaled to a unit diagonal it
/// has no eigenvalue near that precision.
bool survives_single_precision(const Matrix& hessian);

/// weight * r.
Regularizer weighted(Regularizer regularizer, double weight);

/// The nearest point of the box that r confines to.
Vector within_bounds(const Vector& point, const Regularizer& regularizer);

}  // namespace grove
