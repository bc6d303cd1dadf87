#pragma once

#include <array>
#include <span>

#include "grove/base/types.h"

/// Dense symmetric matrices whose lower triangle is read, on the fastest kernels of the
/// machine (docs/decisions/kernels.md).
namespace grove {

/// result += matrix v.
void add_symmetric_product(const Matrix& matrix, const Vector& v, Vector& result);

/// result += factor times a column of the matrix.
void add_column(const Matrix& matrix, Index column, double factor, Vector& result);

/// result += factor matrix v, the matrix being the columns of its lower triangle one after the
/// other.
void add_packed_product(std::span<const float> matrix, double factor, const Vector& v,
                        Vector& result);

/// The same with factor 1 for two vectors; each gets the same bits.
void add_packed_products(std::span<const float> matrix, const std::array<const Vector*, 2>& vs,
                         const std::array<Vector*, 2>& results);

/// result = a A + b B, on the lower triangle; above it stands anything.
void combine_lower(double a, const Matrix& A, double b, const Matrix& B, Matrix& result);

/// The upper triangle becomes the picture of the lower one.
void mirror_lower_triangle(Matrix& matrix);

/// The lower triangle becomes its Cholesky factor; what stands above is lost. False where the
/// matrix is not positive definite (or not finite): it is spoilt then.
bool factorize_cholesky(Eigen::Ref<Matrix> matrix);

/// vector = factor^{-1} vector, and factor'^{-1} vector.
void solve_lower(const Eigen::Ref<const Matrix>& factor, Eigen::Ref<Vector> vector);
void solve_upper(const Eigen::Ref<const Matrix>& factor, Eigen::Ref<Vector> vector);

/// vector = (factor factor')^{-1} vector.
void solve_cholesky(const Eigen::Ref<const Matrix>& factor, Eigen::Ref<Vector> vector);

}  // namespace grove
