#pragma once

#include <cstdint>

#include "grove/base/types.h"
#include "grove/problem/symmetric.h"

namespace grove {

/// The symmetric positive semidefinite matrix scalar I + diag(diagonal) + matrix: what penalties
/// and proximal terms add to the Hessian of a local objective.
struct QuadraticTerm {
  double scalar = 0;
  const Vector* diagonal = nullptr;  ///< optional
  const Matrix* matrix = nullptr;    ///< optional; only the lower triangle is read
  /// Identifies diagonal and matrix: at one agent, equal versions mean equal numbers.
  std::uint64_t version = 0;

  /// result += this v.
  void add_product(const Vector& v, Vector& result) const {
    result += scalar * v;
    if (diagonal) result += diagonal->cwiseProduct(v);
    if (matrix) add_symmetric_product(*matrix, v, result);
  }
  /// sum = hessian + this, both triangles.
  void add_to(const Matrix& hessian, Matrix& sum) const {
    if (matrix) {
      combine_lower(1, hessian, 1, *matrix, sum);
      mirror_lower_triangle(sum);
    } else {
      sum = hessian;
    }
    sum.diagonal().array() += scalar;
    if (diagonal) sum.diagonal() += *diagonal;
  }
  /// sum = a hessian + b this, on the lower triangle.
  void combine(double a, const Matrix& hessian, double b, Matrix& sum) const {
    if (matrix)
      combine_lower(a, hessian, b, *matrix, sum);
    else
      sum = a * hessian;
    sum.diagonal().array() += b * scalar;
    if (diagonal) sum.diagonal() += b * *diagonal;
  }
};

}  // namespace grove
