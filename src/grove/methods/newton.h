#pragma once

#include "grove/base/types.h"

namespace grove {

/// Replaces `vector` by (hessian + shift I)^{-1} vector, using the matrix for the Cholesky factor.
/// False if the matrix is not positive definite (or not finite); `vector` is then unusable.
bool solve_shifted(Matrix& hessian, double shift, Vector& vector);

}  // namespace grove
