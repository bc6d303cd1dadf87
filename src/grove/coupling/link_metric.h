#pragma once

#include <memory>

#include "grove/base/types.h"
#include "grove/coupling/quadratic_term.h"

namespace grove {

/// Coordinates y = L'x of the links, L lower triangular, so that |y|^2 = x'L L'x. In the metric of
/// the network's second moments, weights of links are near multiples of the identity, whatever the
/// units, correlations and outliers of the columns. Without an L, y = x.
class LinkMetric {
 public:
  explicit LinkMetric(std::shared_ptr<const Matrix> factor) : factor_(std::move(factor)) {}

  bool is_identity() const { return factor_ == nullptr; }
  const Matrix& factor() const { return *factor_; }

  /// y = L'x.
  void to_links(const Vector& x, Vector& y) const {
    y.noalias() = factor_->triangularView<Eigen::Lower>().transpose() * x;
  }
  /// A gradient with respect to y becomes one with respect to x: L gradient.
  void gradient_from_links(Vector& gradient) const {
    gradient = factor_->triangularView<Eigen::Lower>() * gradient;
  }
  /// L term L', both triangles: a quadratic of y as one of x.
  void term_from_links(const QuadraticTerm& term, Matrix& result) const {
    const Matrix zero = Matrix::Zero(factor_->rows(), factor_->cols());
    term.add_to(zero, result);
    result = factor_->triangularView<Eigen::Lower>() * result;
    result = (factor_->triangularView<Eigen::Lower>() * result.transpose()).eval();
  }
  /// L^-1 hessian L^-T, both triangles: a Hessian with respect to x as one with respect to y.
  void hessian_to_links(Matrix& hessian) const {
    factor_->triangularView<Eigen::Lower>().solveInPlace(hessian);
    hessian.transposeInPlace();
    factor_->triangularView<Eigen::Lower>().solveInPlace(hessian);
    hessian = (0.5 * (hessian + hessian.transpose())).eval();
  }

 private:
  std::shared_ptr<const Matrix> factor_;
};

}  // namespace grove
