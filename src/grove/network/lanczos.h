#pragma once

#include <Eigen/SparseCore>

#include "grove/base/types.h"

namespace grove {

using SparseMatrix = Eigen::SparseMatrix<double>;

/// Extreme eigenvalues of large sparse symmetric matrices, to about ten digits. Each first tries
/// plain Lanczos, which is fast where the wanted eigenvalue stands apart from the others (random
/// graphs). Where it does not (rings, paths, grids) the graph has small separators, so a sparse
/// factorization is cheap, and Lanczos on the inverse is fast.
double largest_eigenvalue(const SparseMatrix& matrix);
double smallest_eigenvalue(const SparseMatrix& positive_definite);

/// Second smallest eigenvalue of a connected graph's Laplacian; the smallest is zero, with the
/// constant vector.
double second_smallest_eigenvalue(const SparseMatrix& laplacian);

}  // namespace grove
