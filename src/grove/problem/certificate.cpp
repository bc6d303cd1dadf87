#include "grove/problem/certificate.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include <Eigen/Cholesky>

#include "grove/problem/reference.h"

namespace grove {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr Index largest_stored = 2000;  ///< coefficients; beyond, products with the Hessian
/// Of the Hessian's diagonal: keeps the model's minimizer defined along flat directions.
constexpr double relative_damping = 1e-13;
/// Of the usual second derivative of a loss, which is the scale of a diagonal entry in scaled
/// coordinates: smaller entries are damped as if they were this large.
constexpr double smallest_entry = 1e-3;
constexpr int refinements = 3;  ///< of the step, against damping and rounding

struct Range {
  double low, high;
};

/// The subgradients of one coordinate of r at u.
Range subgradients(const Regularizer& r, Index k, double u) {
  if (k >= r.regularized) return {0, 0};
  const double l1 = r.l1_at(k);
  Range range{u > 0 ? l1 : -l1, u < 0 ? -l1 : l1};
  if (u <= r.low_at(k)) range.low = -infinity;
  if (u >= r.high_at(k)) range.high = infinity;
  return range;
}

}  // namespace

double subgradient_gap(const Regularizer& r, const Vector& x, const Vector& target,
                       const Vector& slope, const Vector& damping) {
  double sum = 0;
  for (Index k = 0; k < x.size(); ++k) {
    const Range range = subgradients(r, k, target[k]);
    const double subgradient = std::clamp(-slope[k], range.low, range.high);
    const double step = target[k] - x[k];
    if (k < r.regularized)
      sum +=
          std::max(0.0, r.l1_at(k) * (std::abs(x[k]) - std::abs(target[k])) + subgradient * step);
    const double missing = -slope[k] - subgradient;
    const double residual = missing - damping[k] * step;
    sum += 2 * std::abs(missing) * (std::abs(step) + std::abs(residual) / damping[k]);
  }
  return sum;
}

double damping_stretch(const Vector& step, double curvature, const Vector& damping) {
  constexpr double most = 1e3;  // beyond, the direction counts as one without curvature
  const double damped = step.dot(damping.cwiseProduct(step));
  return damped > 0 ? 1 + damped / std::max(curvature, damped / most) : 1;
}

Vector model_damping(const Vector& diagonal, double usual) {
  return relative_damping * diagonal.cwiseMax(std::max(smallest_entry * usual, 1e-200));
}

Certifier::Certifier(const Objective& f, const Regularizer& r)
    : f_(f), r_(r), usual_entry_(f.largest_second_derivative()) {}

/// The quadratic model at x, once the gradient and a stored Hessian are known.
void Certifier::model_f(const Vector& x) {
  if (x.size() <= largest_stored) {
    damping_ = model_damping(hessian_.diagonal(), usual_entry_);
    smoothness_ = std::max(hessian_.diagonal().sum(), damping_.maxCoeff() / relative_damping);
    damped_ = std::make_unique<DenseHessian>(hessian_, damping_);
    return;
  }
  smoothness_ = f_.smoothness() > 0 ? f_.smoothness() : 1;
  damping_ = Vector::Constant(x.size(), relative_damping * smoothness_);
  damped_ = std::make_unique<ProductHessian>(
      f_, x,
      ProductHessian::Bounds{.smoothness = smoothness_, .damping = relative_damping * smoothness_});
}

void Certifier::hessian_times(const Vector& direction, Vector& product) const {
  if (direction.size() <= largest_stored) {
    product = hessian_ * direction;
    return;
  }
  damped_->times(direction, product);
  product -= damping_.cwiseProduct(direction);
}

/// Moves the target from x nearly to the minimizer of the model, at once where no Hessian is
/// stored.
bool Certifier::minimize_restricted(const Vector& x, Vector& target) {
  if (x.size() <= largest_stored || !f_.restricts()) return false;
  second_derivatives_.resize(static_cast<std::size_t>(f_.second_derivative_count(Batch::all())));
  f_.evaluate_second_derivatives(x, Batch::all(), nullptr, second_derivatives_, scratch_);
  target = restricted_.minimize({.f = f_,
                                 .second_derivatives = second_derivatives_,
                                 .x = x,
                                 .gradient = gradient_,
                                 .regularizer = r_,
                                 .smoothness = smoothness_,
                                 .damping = damping_[0],
                                 .tolerance = 1e-12 * stationarity(x, gradient_, r_, smoothness_)});
  return target.allFinite();
}

/// What the subgradient of r misses at the target, whose slope is that of f's model or one nearby.
double Certifier::missing_gap(const Vector& x, const Vector& target, const Vector& slope) {
  const Vector step = target - x;
  Vector product;
  hessian_times(step, product);
  return damping_stretch(step, step.dot(product), damping_) *
         subgradient_gap(r_, x, target, slope, damping_);
}

/// Moves the target from x to the minimizer of the model, and returns the subgradient gap there.
/// The slope is that of f's model at the target.
double Certifier::minimize_model(const Vector& x, Vector& target, Vector& slope) {
  target = x;
  slope = gradient_;
  Vector product;
  if (minimize_restricted(x, target)) {
    hessian_times(target - x, slope);
    slope += gradient_;
    return missing_gap(x, target, slope);
  }
  target = x;
  double least = infinity;
  for (int k = 0; k <= refinements; ++k) {
    const double residual = stationarity(target, slope, r_, smoothness_);
    const Vector next = minimize({.center = target,
                                  .gradient = slope,
                                  .hessian = *damped_,
                                  .regularizer = r_,
                                  .smoothness = smoothness_,
                                  .tolerance = 1e-8 * residual},
                                 model_scratch_);
    if (!next.allFinite()) break;
    hessian_times(next - x, product);
    product += gradient_;
    const double gap = missing_gap(x, next, product);
    if (!(gap < least)) break;
    least = gap;
    target = next;
    slope = product;
  }
  return least;
}

/// True where a slope of the model is none of f: then the bound is loose.
bool Certifier::bound(const Vector& x, Certificate& result) {
  result.gap = infinity;
  result.step.setZero(x.size());
  const bool stored = x.size() <= largest_stored;
  result.value = r_.value(x) +
                 f_.evaluate(x, Batch::all(), &gradient_, stored ? &hessian_ : nullptr, scratch_);
  if (!std::isfinite(result.value) || !gradient_.allFinite()) return false;
  model_f(x);
  Vector target, slope, correction;
  const double slack = minimize_model(x, target, slope);
  result.step = target - x;
  result.decrement = r_.value(x) - r_.value(target) - gradient_.dot(result.step);
  if (const auto gap = f_.fenchel_gap(x, result.step, correction)) {
    const bool corrected = !correction.isZero(0);
    result.exact = true;
    result.gap = *gap + (corrected ? missing_gap(x, target, slope + correction) : slack);
    result.gap = std::min(result.gap, result.value);  // no value is negative
    return corrected;
  }
  const double after =
      r_.value(target) + f_.evaluate(target, Batch::all(), nullptr, nullptr, scratch_);
  // The difference of two values has their rounding errors.
  constexpr double rounding = 1e-14;
  if (result.value - after <= result.decrement + rounding * std::abs(result.value))
    result.gap = result.decrement;
  return false;
}

/// Where the bound is loose, that of the next Newton point and the difference of the values are
/// tight, if that point is near enough to the minimizer.
Certificate Certifier::at(const Vector& x) {
  assert(r_.separable());
  constexpr int most_steps = 3;
  Certificate result;
  bool loose = bound(x, result);
  if (!loose) return result;
  Matrix hessian = hessian_;
  Certificate next = result;
  Vector point = x;
  for (int k = 0; k < most_steps && loose; ++k) {
    point += next.step;
    const double before = next.value;
    loose = bound(point, next);
    if (!(next.value < before)) break;
    result.gap = std::min(result.gap, result.value - next.value + next.gap);
  }
  hessian_ = std::move(hessian);
  return result;
}

double Certifier::distance(const Vector& x, const Vector& y) {
  Vector product;
  const Vector difference = y - x;
  hessian_times(difference, product);
  return 0.5 * difference.dot(product);
}

Vector Certifier::hessian_diagonal() const { return hessian_.diagonal(); }

bool Certifier::is_flat(const Vector& x) const {
  constexpr Index most = 500;         // the factorization is cubic
  constexpr double rounding = 1e-11;  // of a pivot, relative to its diagonal entry
  std::vector<Index> free;
  for (Index k = 0; k < x.size(); ++k) {
    const Range range = subgradients(r_, k, x[k]);
    if (range.low == range.high) free.push_back(k);
  }
  if (hessian_.size() == 0 || free.empty() || static_cast<Index>(free.size()) > most) return false;
  Matrix block = hessian_(free, free);
  const Vector diagonal = block.diagonal();
  if (!(diagonal.minCoeff() > 0)) return true;
  const Vector scale = diagonal.cwiseSqrt().cwiseInverse();
  block = scale.asDiagonal() * block * scale.asDiagonal();
  return !(Eigen::LDLT<Matrix>(block).vectorD().minCoeff() > rounding);
}

}  // namespace grove
