#include "grove/methods/model_step.h"

#include <cmath>
#include <limits>

#include <Eigen/Eigenvalues>

#include "grove/problem/quadratic_model.h"

namespace grove {
namespace {

/// Along an eigenvector with a smaller share of the largest eigenvalue rounding rules.
constexpr double least_eigenvalue = 1e-12;

/// Finite, also where a diagonal is zero.
Vector unit_diagonal_scale(const Matrix& hessian) {
  constexpr double least = 1e-30;  ///< of the largest
  const double largest = hessian.diagonal().maxCoeff();
  if (!(largest > 0)) return Vector::Ones(hessian.rows());
  return hessian.diagonal().cwiseMax(least * largest).cwiseSqrt().cwiseInverse();
}

/// Cholesky where H is well conditioned, and an eigendecomposition, which takes some ten times as
/// long, elsewhere.
Vector smooth_step(const Matrix& hessian, const Vector& gradient) {
  constexpr double well_conditioned = 1e-5;  ///< least over largest diagonal of the factor
  const Vector scale = unit_diagonal_scale(hessian);
  const Matrix scaled = scale.asDiagonal() * hessian * scale.asDiagonal();
  const Vector right = -scale.cwiseProduct(gradient);
  const Eigen::LLT<Matrix> cholesky(scaled);
  if (cholesky.info() == Eigen::Success) {
    const Vector diagonal = cholesky.matrixLLT().diagonal();
    if (diagonal.minCoeff() > well_conditioned * diagonal.maxCoeff())
      return scale.cwiseProduct(cholesky.solve(right));
  }
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(scaled);
  const double largest = eigen.eigenvalues().maxCoeff();
  const double least = least_eigenvalue * (largest > 0 ? largest : 1);
  const Vector floored = eigen.eigenvalues().cwiseMax(least);
  const Vector parts = eigen.eigenvectors().transpose() * right;
  return scale.cwiseProduct(eigen.eigenvectors() * parts.cwiseQuotient(floored));
}

}  // namespace

bool survives_single_precision(const Matrix& hessian) {
  constexpr double least_pivot = 1e-5;  ///< some hundred times the rounding of single precision
  const Vector scale = unit_diagonal_scale(hessian);
  const Eigen::LLT<Matrix> cholesky(scale.asDiagonal() * hessian * scale.asDiagonal());
  return cholesky.info() == Eigen::Success &&
         cholesky.matrixLLT().diagonal().cwiseAbs2().minCoeff() > least_pivot;
}

Vector model_step(const Matrix& hessian, const Vector& gradient, const Vector& point,
                  const Regularizer& regularizer) {
  if (regularizer.trivial()) return smooth_step(hessian, gradient);
  constexpr double ridge = 1e-14;  ///< relative to the mean diagonal: keeps H definite
  const double trace = hessian.trace();
  const double mean_diagonal =
      trace > 0 ? trace / static_cast<double>(point.size()) : least_eigenvalue / ridge;
  const DenseHessian damped(hessian, Vector::Constant(point.size(), ridge * mean_diagonal));
  QuadraticScratch scratch;
  // A tolerance of zero: the minimizer goes on to the level of rounding.
  const Vector& target = minimize({.center = point,
                                   .gradient = gradient,
                                   .hessian = damped,
                                   .regularizer = regularizer,
                                   .smoothness = trace > 0 ? trace : least_eigenvalue,
                                   .tolerance = 0},
                                  scratch);
  return target - point;
}

Regularizer weighted(Regularizer regularizer, double weight) {
  regularizer.l1 *= weight;
  return regularizer;
}

Vector within_bounds(const Vector& point, const Regularizer& regularizer) {
  Vector inside = point;
  for (Index k = 0; k < point.size(); ++k) inside[k] = regularizer.prox_at(k, 0, point[k]);
  return inside;
}

}  // namespace grove
