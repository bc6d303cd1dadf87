#include "support/glm_objective.h"

#include <cmath>
#include <limits>

#include <Eigen/Dense>

namespace grove::testing_support {
namespace {

struct Derivatives {
  double value, slope, curvature;
};

Derivatives loss_at(GlmFamily family, double margin, double target) {
  switch (family) {
    case GlmFamily::logistic: {
      const double softplus =
          margin > 0 ? margin + std::log1p(std::exp(-margin)) : std::log1p(std::exp(margin));
      const double p = 0.5 * (1 + std::tanh(0.5 * margin)), q = 0.5 * (1 - std::tanh(0.5 * margin));
      return {softplus - target * margin, p - target, p * q};
    }
    case GlmFamily::poisson: {
      const double mean = std::exp(margin);
      return {mean - target * margin, mean - target, mean};
    }
    case GlmFamily::squared:
      break;
  }
  return {0.5 * (margin - target) * (margin - target), margin - target, 1};
}

double soft(double v, double threshold) {
  return std::copysign(std::max(std::abs(v) - threshold, 0.0), v);
}

/// argmin g's + s'Hs/2 + lambda |z + s|_1 by coordinate descent; without l1 by eigenvalues.
Vector step(const Matrix& H, const Vector& g, const Vector& z, double lambda) {
  const Index d = z.size();
  if (lambda == 0) {
    const Vector scale = H.diagonal().cwiseMax(1e-300).cwiseSqrt();
    const Matrix scaled = scale.cwiseInverse().asDiagonal() * H * scale.cwiseInverse().asDiagonal();
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(scaled);
    const Vector values = eigen.eigenvalues().cwiseMax(1e-12 * eigen.eigenvalues().maxCoeff());
    const Vector parts = eigen.eigenvectors().transpose() * g.cwiseQuotient(scale);
    return -(eigen.eigenvectors() * parts.cwiseQuotient(values)).cwiseQuotient(scale);
  }
  const Matrix A = H + 1e-14 * H.trace() / static_cast<double>(d) * Matrix::Identity(d, d);
  Vector x = z, slope = g;
  for (int sweep = 0; sweep < 5000; ++sweep) {
    double moved = 0;
    for (Index k = 0; k < d; ++k) {
      const double next = soft(x[k] - slope[k] / A(k, k), lambda / A(k, k));
      const double change = next - x[k];
      if (change == 0) continue;
      slope += change * A.col(k);
      x[k] = next;
      moved = std::max(moved, std::abs(change) * std::sqrt(A(k, k)));
    }
    if (moved < 1e-15) break;
  }
  return x - z;
}

}  // namespace

double GlmObjective::value(const Vector& x, Vector* gradient, Matrix* hessian) const {
  const Index d = dimension();
  const double weight = 1 / static_cast<double>(data_.targets.size());
  double sum = 0;
  if (gradient) gradient->setZero(d);
  if (hessian) hessian->setZero(d, d);
  for (Index j = 0; j < data_.targets.size(); ++j) {
    const Vector row = data_.rows.row(j);
    const Derivatives at = loss_at(data_.family, row.dot(x), data_.targets[j]);
    sum += at.value;
    if (gradient) *gradient += at.slope * row;
    if (hessian) *hessian += at.curvature * row * row.transpose();
  }
  if (gradient) *gradient = weight * *gradient + data_.l2 * x;
  if (hessian) {
    *hessian *= weight;
    hessian->diagonal().array() += data_.l2;
  }
  const double result = weight * sum + 0.5 * data_.l2 * x.squaredNorm();
  return std::isfinite(result) ? result : std::numeric_limits<double>::infinity();
}

double glm_value(const Glms& parts, double l1, const Vector& x) {
  double sum = static_cast<double>(parts.size()) * l1 * x.lpNorm<1>();
  for (const auto& part : parts) sum += part->value(x, nullptr, nullptr);
  return sum;
}

Vector glm_optimum(const Glms& parts, double l1) {
  const Index d = parts.front()->dimension();
  const double lambda = static_cast<double>(parts.size()) * l1;
  Vector z = Vector::Zero(d);
  double F = glm_value(parts, l1, z);
  for (int iteration = 0; iteration < 500; ++iteration) {
    Vector g = Vector::Zero(d), part_g;
    Matrix H = Matrix::Zero(d, d), part_h;
    for (const auto& part : parts) {
      part->value(z, &part_g, &part_h);
      g += part_g;
      H += part_h;
    }
    const Vector s = step(H, g, z, lambda);
    const double predicted = g.dot(s) + lambda * ((z + s).lpNorm<1>() - z.lpNorm<1>());
    double length = 1, next = F;
    for (; length > 1e-12; length /= 2) {
      next = glm_value(parts, l1, z + length * s);
      if (next <= F + 1e-4 * length * predicted + 1e-14 * std::abs(F)) break;
    }
    z += length * s;
    F = next;
    if (s.lpNorm<Eigen::Infinity>() < 1e-13 * z.lpNorm<Eigen::Infinity>()) break;
  }
  return z;
}

}  // namespace grove::testing_support
