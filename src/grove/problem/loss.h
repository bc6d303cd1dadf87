#pragma once

#include <algorithm>
#include <cmath>
#include <variant>

namespace grove {

/// A loss of one sample as a function of its margin m = w'x, with first and second derivative.
struct LossPoint {
  double value = 0;
  double slope = 0;
  double curvature = 0;
};

/// log(1 + e^m) - y m with y in {0, 1} (math: section 1, point 2). No overflow for any margin, and
/// no cancellation: value and slope keep their relative precision however sure the model is.
struct LogisticLoss {
  static constexpr double max_curvature = 0.25;
  LossPoint at(double margin, double target) const {
    const double decay = std::exp(-std::abs(margin));  // in (0, 1]
    const double likelier = 1.0 / (1.0 + decay);  // probability of the class the margin favours
    const double other = decay * likelier;
    const double one = margin >= 0 ? likelier : other;
    const double zero = margin >= 0 ? other : likelier;
    const double value =
        (1 - target) * std::max(margin, 0.0) + target * std::max(-margin, 0.0) + std::log1p(decay);
    return {value, (1 - target) * one - target * zero, likelier * other};
  }
};

/// (m - y)^2 / 2
struct SquaredLoss {
  static constexpr double max_curvature = 1.0;
  LossPoint at(double margin, double target) const {
    const double residual = margin - target;
    return {0.5 * residual * residual, residual, 1.0};
  }
};

/// Quadratic for residuals up to delta, linear beyond: robust regression.
struct HuberLoss {
  static constexpr double max_curvature = 1.0;
  double delta = 1.35;
  LossPoint at(double margin, double target) const {
    const double residual = margin - target;
    if (std::abs(residual) <= delta) return {0.5 * residual * residual, residual, 1.0};
    return {delta * (std::abs(residual) - 0.5 * delta), std::copysign(delta, residual), 0.0};
  }
};

using Loss = std::variant<LogisticLoss, SquaredLoss, HuberLoss>;

inline bool is_classification(const Loss& loss) {
  return std::holds_alternative<LogisticLoss>(loss);
}

}  // namespace grove
