#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "grove/base/result.h"

namespace grove {

/// A loss of one sample as a function of its margin m = w'x, with first and second derivative.
struct LossPoint {
  double value = 0;
  double slope = 0;
  double second_derivative = 0;
};

/// log(1 + e^m) - y m with y in {0, 1} (math: section 1, point 2). No overflow for any margin, and
/// no cancellation: value and slope keep their relative precision however sure the model is.
struct LogisticLoss {
  static constexpr double max_second_derivative = 0.25;
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
  static constexpr double max_second_derivative = 1.0;
  LossPoint at(double margin, double target) const {
    const double residual = margin - target;
    return {0.5 * residual * residual, residual, 1.0};
  }
};

/// Quadratic for residuals up to delta, linear beyond: robust regression.
struct HuberLoss {
  static constexpr double max_second_derivative = 1.0;
  double delta = 1.35;
  LossPoint at(double margin, double target) const {
    const double residual = margin - target;
    if (std::abs(residual) <= delta) return {0.5 * residual * residual, residual, 1.0};
    return {delta * (std::abs(residual) - 0.5 * delta), std::copysign(delta, residual), 0.0};
  }
};

/// A loss of the user's own: convex and twice differentiable in the margin, but for kinks of the
/// slope. It is called for one sample at a time, from several threads at once.
class LossFunction {
 public:
  virtual ~LossFunction() = default;

  virtual LossPoint at(double margin, double target) const = 0;
  virtual double max_second_derivative() const = 0;         ///< no second derivative is larger
  virtual bool is_classification() const { return false; }  ///< targets are 0 and 1
};

struct CustomLoss {
  CustomLoss(std::string loss_name, std::shared_ptr<const LossFunction> loss_function)
      : name(std::move(loss_name)),
        function(std::move(loss_function)),
        max_second_derivative(function->max_second_derivative()) {}

  LossPoint at(double margin, double target) const { return function->at(margin, target); }

  std::string name;  ///< with its arguments, as --loss takes it
  std::shared_ptr<const LossFunction> function;
  double max_second_derivative;
};

/// The first three have vectorized kernels; a custom loss goes sample by sample.
using Loss = std::variant<LogisticLoss, SquaredLoss, HuberLoss, CustomLoss>;

inline bool is_classification(const Loss& loss) {
  const auto* custom = std::get_if<CustomLoss>(&loss);
  return custom ? custom->function->is_classification()
                : std::holds_alternative<LogisticLoss>(loss);
}

/// One row of the registry of losses.
struct LossEntry {
  std::string name;  ///< as --loss takes it, before the colon
  std::string form;  ///< with its arguments, as help shows it: "huber[:DELTA]"
  /// From the text after the colon, empty without one. The error's `where` is left to the caller.
  std::function<Result<Loss>(std::string_view arguments)> make;
};

std::vector<LossEntry> built_in_losses();

/// A loss as --loss takes it.
std::string name_of(const Loss& loss);

}  // namespace grove
