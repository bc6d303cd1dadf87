#include "grove/coupling/largest_eigenpairs.h"

#include <random>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>

namespace grove {
namespace {

constexpr Index spare_columns = 4;  ///< of a block, beyond the eigenpairs
constexpr Index blocks = 4;         ///< of the Krylov space: three products with the matrix

Matrix orthonormal(const Matrix& columns) {
  return Eigen::HouseholderQR<Matrix>(columns).householderQ() *
         Matrix::Identity(columns.rows(), columns.cols());
}

/// The same for every matrix of the size: results do not depend on who asks.
Matrix start_block(Index rows, Index columns) {
  std::mt19937_64 random;
  Matrix start(rows, columns);
  for (Index column = 0; column < columns; ++column)
    for (Index row = 0; row < rows; ++row)
      start(row, column) = 0x1p-63 * static_cast<double>(random()) - 1;
  return start;
}

Eigenpairs last_of(const Eigen::SelfAdjointEigenSolver<Matrix>& solver, Index count) {
  return {solver.eigenvalues().tail(count), solver.eigenvectors().rightCols(count)};
}

}  // namespace

Eigenpairs largest_eigenpairs(const Matrix& lower, Index count) {
  const Index dimension = lower.rows(), width = count + spare_columns;
  if (2 * blocks * width > dimension)
    return last_of(Eigen::SelfAdjointEigenSolver<Matrix>(lower), count);
  const auto matrix = lower.selfadjointView<Eigen::Lower>();
  Matrix space(dimension, blocks * width);
  space.leftCols(width) = orthonormal(start_block(dimension, width));
  for (Index block = 1; block < blocks; ++block) {
    const Matrix product = matrix * space.middleCols((block - 1) * width, width);
    space.middleCols(block * width, width) = orthonormal(product);
  }
  const Matrix basis = orthonormal(space);
  const Matrix product = matrix * basis;
  Eigenpairs ritz =
      last_of(Eigen::SelfAdjointEigenSolver<Matrix>(basis.transpose() * product), count);
  ritz.vectors = basis * ritz.vectors;
  return ritz;
}

}  // namespace grove
