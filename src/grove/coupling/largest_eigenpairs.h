#pragma once

#include "grove/base/types.h"

namespace grove {

/// Some of the largest eigenvalues of a symmetric matrix, increasing, and their eigenvectors.
struct Eigenpairs {
  Vector values;
  Matrix vectors;
};

/// Of a matrix whose lower triangle is read. Where many eigenpairs are asked for this is a full
/// decomposition; otherwise Rayleigh-Ritz on a block Krylov space (Musco and Musco 2015), whose
/// vectors are orthonormal and whose values are never above the eigenvalues.
Eigenpairs largest_eigenpairs(const Matrix& lower, Index count);

}  // namespace grove
