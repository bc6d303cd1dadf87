#pragma once

#include "grove/base/types.h"

namespace grove {

/// Replaces `vector` by (hessian + shift I)^{-1} vector, using the lower triangle for the Cholesky
/// factor and `diagonal` as a buffer. Where rounding has made the matrix indefinite, the least
/// ridge that mends it is added. False if it is not finite: the vector is all NaN then, so that a
/// step along it shows as what it is, a run that has diverged.
[[nodiscard]] bool solve_shifted(Matrix& hessian, double shift, Vector& vector, Vector& diagonal);

}  // namespace grove
