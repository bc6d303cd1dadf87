#include "grove/train/newton_polish.h"

#include <cmath>
#include <limits>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

namespace grove {
namespace {

constexpr int most_steps = 200;

bool supported(const Regularizer& regularizer) {
  return regularizer.separable() && std::isinf(regularizer.low) && std::isinf(regularizer.high);
}

class Polisher {
 public:
  Polisher(const Objective& f, const Regularizer& regularizer, Vector x)
      : f_(f), regularizer_(regularizer) {
    result_.x = std::move(x);
  }

  Polished run() {
    if (!supported(regularizer_)) return std::move(result_);
    find_free();
    value_ = evaluate();
    const double start =
        std::max(std::abs(value_), std::abs(total(Vector::Zero(result_.x.size()))));
    double best = std::numeric_limits<double>::infinity();
    for (; result_.steps < most_steps; ++result_.steps) {
      if (!solve()) break;
      const bool tiny_step = result_.last_step.lpNorm<Eigen::Infinity>() <=
                             1e-7 * (1 + result_.x.lpNorm<Eigen::Infinity>());
      const bool at_rounding =
          result_.decrement <= 1e-14 * start && result_.decrement > 0.25 * best;
      if (tiny_step && (result_.decrement <= 1e-26 * start || at_rounding)) {
        result_.converged = zeros_are_optimal();
        break;
      }
      best = std::min(best, result_.decrement);
      if (!move(result_.decrement <= 1e-14 * start)) break;
    }
    note_faded_directions();
    return std::move(result_);
  }

 private:
  void find_free() {
    for (Index k = 0; k < result_.x.size(); ++k)
      if (!(penalized(k) && result_.x[k] == 0)) free_.push_back(k);
  }

  double weight(Index k) const { return regularizer_.l1_at(k); }
  bool penalized(Index k) const { return k < regularizer_.regularized && weight(k) > 0; }

  double total(const Vector& x) {
    return f_.evaluate(x, Batch::all(), nullptr, nullptr, scratch_) + regularizer_.value(x);
  }

  double evaluate() {
    return f_.evaluate(result_.x, Batch::all(), &gradient_, &hessian_, scratch_) +
           regularizer_.value(result_.x);
  }

  /// Where x has gone far along directions in which next to nothing is left of the curvature, and f
  /// does not grow much farther along them, there is no minimizer: an exponential loss has faded
  /// into rounding. Along collinear columns f had no curvature at zero either.
  void note_faded_directions() {
    constexpr Index most = 500;  // coefficients: the decomposition is cubic
    constexpr double faded = 1e-8, flat = 1e-10, farther = 30;
    const Index count = result_.x.size();
    if (static_cast<Index>(free_.size()) != count || count > most) return;
    value_ = evaluate();  // the last Hessian may be that of a refused step
    if (!hessian_.allFinite()) return;
    Matrix at_zero;
    f_.evaluate(Vector::Zero(count), Batch::all(), nullptr, &at_zero, scratch_);
    const double usual = at_zero.diagonal().mean();
    const Eigen::SelfAdjointEigenSolver<Matrix> left(hessian_);
    const double least = faded * std::max(hessian_.diagonal().mean(), usual);
    Vector direction = Vector::Zero(count);
    for (Index k = 0; k < count && left.eigenvalues()[k] <= least; ++k)
      direction += left.eigenvectors().col(k).dot(result_.x) * left.eigenvectors().col(k);
    if (!(direction.norm() > 0)) return;
    direction.normalize();
    if (!(direction.dot(at_zero * direction) > flat * usual)) return;
    if (!(total(result_.x + farther * direction) <= value_ + 1e-10 * std::abs(value_))) return;
    result_.converged = false;
    result_.separating = true;
    result_.last_step = direction;
  }

  /// Newton's step over the free coordinates.
  bool solve() {
    const auto count = static_cast<Index>(free_.size());
    if (count == 0) {
      result_.last_step = Vector::Zero(result_.x.size());
      result_.decrement = 0;
      return true;
    }
    Matrix hessian(count, count);
    Vector slope(count);
    for (Index i = 0; i < count; ++i) {
      const Index row = free_[static_cast<std::size_t>(i)];
      slope[i] = gradient_[row];
      if (penalized(row)) slope[i] += std::copysign(weight(row), result_.x[row]);
      for (Index j = 0; j < count; ++j)
        hessian(i, j) = hessian_(row, free_[static_cast<std::size_t>(j)]);
    }
    // Scaled to a unit diagonal: along separated directions the Hessian fades by many decades.
    const Vector scale = hessian.diagonal().cwiseMax(1e-300).cwiseSqrt().cwiseInverse();
    const Eigen::LDLT<Matrix> factor(Matrix(scale.asDiagonal() * hessian * scale.asDiagonal()));
    const Vector step = -scale.cwiseProduct(factor.solve(scale.cwiseProduct(slope)));
    if (factor.info() != Eigen::Success || !step.allFinite()) return false;
    result_.last_step = Vector::Zero(result_.x.size());
    for (Index i = 0; i < count; ++i)
      result_.last_step[free_[static_cast<std::size_t>(i)]] = step[i];
    result_.decrement = -slope.dot(step);
    return result_.decrement >= 0;
  }

  /// A line search that keeps signs; near the end values are rounding, and the step is taken.
  bool move(bool near_end) {
    double length = 1;
    for (const Index k : free_)
      if (penalized(k) && result_.x[k] * (result_.x[k] + result_.last_step[k]) <= 0)
        length = std::min(length, 0.5 * std::abs(result_.x[k] / result_.last_step[k]));
    for (; length > 1e-12; length /= 2) {
      const Vector before = result_.x;
      const double value = value_;
      result_.x = before + length * result_.last_step;
      value_ = evaluate();
      if (near_end || value_ <= value - 1e-4 * length * result_.decrement) return true;
      result_.x = before;
      value_ = value;
    }
    return false;
  }

  bool zeros_are_optimal() const {
    for (Index k = 0; k < result_.x.size(); ++k)
      if (penalized(k) && result_.x[k] == 0 && std::abs(gradient_[k]) > weight(k) * (1 + 1e-6))
        return false;
    return true;
  }

  const Objective& f_;
  const Regularizer& regularizer_;
  std::vector<Index> free_;
  Polished result_;
  double value_ = 0;
  Vector gradient_;
  Matrix hessian_;
  ObjectiveScratch scratch_;
};

}  // namespace

Polished newton_polish(const Objective& f, const Regularizer& regularizer, Vector x) {
  return Polisher(f, regularizer, std::move(x)).run();
}

}  // namespace grove
