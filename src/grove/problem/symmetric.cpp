#include "grove/problem/symmetric.h"

#include <algorithm>
#include <cassert>

#include "grove/kernels/kernels.h"

namespace grove {
namespace {

const kernels::Kernels& fastest() {
  static const kernels::Kernels& kernels = *kernels::available().front();
  return kernels;
}

}  // namespace

void add_symmetric_product(const Matrix& matrix, const Vector& v, Vector& result) {
  assert(matrix.rows() == v.size() && matrix.rows() == result.size());
  fastest().add_symmetric(matrix.data(), matrix.rows(), v.size(), v.data(), result.data());
}

void add_column(const Matrix& matrix, Index column, double factor, Vector& result) {
  assert(matrix.rows() == result.size());
  fastest().add_column(matrix.col(column).data(), matrix.rows(), factor, result.data());
}

void add_packed_product(std::span<const float> matrix, double factor, const Vector& v,
                        Vector& result) {
  assert(static_cast<Index>(matrix.size()) >= v.size() * (v.size() + 1) / 2);
  fastest().add_symmetric_packed(matrix.data(), v.size(), factor, v.data(), result.data());
}

void add_packed_products(std::span<const float> matrix, const std::array<const Vector*, 2>& vs,
                         const std::array<Vector*, 2>& results) {
  const Index size = vs[0]->size();
  assert(static_cast<Index>(matrix.size()) >= size * (size + 1) / 2);
  const std::array from{vs[0]->data(), vs[1]->data()};
  const std::array to{results[0]->data(), results[1]->data()};
  fastest().add_symmetric_packed_twice(matrix.data(), size, from.data(), to.data());
}

void combine_lower(double a, const Matrix& A, double b, const Matrix& B, Matrix& result) {
  const Index size = A.rows();
  result.resize(size, size);
  for (Index column = 0; column < size; ++column)
    result.col(column).tail(size - column) =
        a * A.col(column).tail(size - column) + b * B.col(column).tail(size - column);
}

/// Tile by tile, so that both pictures of one stay in the cache.
void mirror_lower_triangle(Matrix& matrix) {
  constexpr Index tile = 16;
  for (Index left = 0; left < matrix.cols(); left += tile) {
    const Index right = std::min(left + tile, matrix.cols());
    for (Index top = left; top < matrix.rows(); top += tile) {
      const Index bottom = std::min(top + tile, matrix.rows());
      for (Index row = top; row < bottom; ++row)
        for (Index column = left; column < std::min(right, row); ++column)
          matrix(column, row) = matrix(row, column);
    }
  }
}

bool factorize_cholesky(Eigen::Ref<Matrix> matrix) {
  return fastest().cholesky(matrix.data(), matrix.outerStride(), matrix.rows());
}

void solve_lower(const Eigen::Ref<const Matrix>& factor, Eigen::Ref<Vector> vector) {
  fastest().solve_lower(factor.data(), factor.outerStride(), factor.rows(), vector.data());
}

void solve_upper(const Eigen::Ref<const Matrix>& factor, Eigen::Ref<Vector> vector) {
  fastest().solve_upper(factor.data(), factor.outerStride(), factor.rows(), vector.data());
}

void solve_cholesky(const Eigen::Ref<const Matrix>& factor, Eigen::Ref<Vector> vector) {
  fastest().solve_lower(factor.data(), factor.outerStride(), factor.rows(), vector.data());
  fastest().solve_upper(factor.data(), factor.outerStride(), factor.rows(), vector.data());
}

}  // namespace grove
