#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "grove/base/result.h"
#include "grove/base/types.h"

namespace grove {

/// A loss of one sample as a function of its margin m = w'x, with first and second derivative.
struct LossPoint {
  double value = 0;
  double slope = 0;
  double second_derivative = 0;
};

/// Fenchel gaps. The gap of a sample at the margin m and a slope p is f(m) + f*(p) - p m >= 0, the
/// height of f at m above its tangent of slope p. Below, p = f'(m) + f''(m) s is the slope that a
/// Newton step predicts, s being the change of the margin. A p outside the slopes of f is replaced
/// by the nearest one.
struct FenchelGap {
  double gap = 0;
  double correction = 0;  ///< the slope that was taken, less p
};

/// Of log(1 + e^z) at a z with these probabilities, and s.
FenchelGap bernoulli_gap(double one, double zero, double s);
/// Of e^z at a z with that value, and s.
FenchelGap exponential_gap(double value, double s);

/// log(1 + e^m) - y m with y in {0, 1} (math: section 1, point 2). No overflow for any margin, and
/// no cancellation: value and slope keep their relative precision however sure the model is.
struct LogisticLoss {
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
  FenchelGap gap(double margin, double /*target*/, double s) const {
    const double decay = std::exp(-std::abs(margin)), likelier = 1 / (1 + decay);
    return margin >= 0 ? bernoulli_gap(likelier, decay * likelier, s)
                       : bernoulli_gap(decay * likelier, likelier, s);
  }
};

/// (m - y)^2 / 2
struct SquaredLoss {
  LossPoint at(double margin, double target) const {
    const double residual = margin - target;
    return {0.5 * residual * residual, residual, 1.0};
  }
  FenchelGap gap(double /*margin*/, double /*target*/, double s) const { return {0.5 * s * s}; }
};

/// Quadratic for residuals up to delta, linear beyond: robust regression.
struct HuberLoss {
  double delta = 1.35;
  /// Delta is a multiple of the targets' robust scale, which in_target_units() puts in.
  bool of_target_scale = false;
  LossPoint at(double margin, double target) const {
    const double residual = margin - target;
    if (std::abs(residual) <= delta) return {0.5 * residual * residual, residual, 1.0};
    return {delta * (std::abs(residual) - 0.5 * delta), std::copysign(delta, residual), 0.0};
  }
  FenchelGap gap(double margin, double target, double s) const {
    const double residual = margin - target;
    if (std::abs(residual) > delta) return {};
    const double slope = std::clamp(residual + s, -delta, delta);
    return {0.5 * (slope - residual) * (slope - residual), slope - (residual + s)};
  }
};

/// Above this margin exponential losses go on along their tangent: nothing overflows, and no
/// optimum of a data set lies there (the kernels do the same).
inline constexpr double exponent_limit = 200;

/// e^m - y m: counts with mean e^m. Not smooth as a whole: the second derivative is the mean.
struct PoissonLoss {
  LossPoint at(double margin, double target) const {
    const double mean = std::exp(std::min(margin, exponent_limit));
    const double beyond = std::max(margin - exponent_limit, 0.0);
    return {mean * (1 + beyond) - target * margin, mean - target, mean};
  }
  FenchelGap gap(double margin, double /*target*/, double s) const {
    return exponential_gap(std::exp(std::min(margin, exponent_limit)), s);
  }
};

/// y e^-m + m: positive responses with mean e^m. Not smooth as a whole.
struct GammaLoss {
  LossPoint at(double margin, double target) const {
    const double ratio = target * std::exp(std::min(-margin, exponent_limit));
    const double beyond = std::max(-margin - exponent_limit, 0.0);
    return {ratio * (1 + beyond) + margin, 1 - ratio, ratio};
  }
  FenchelGap gap(double margin, double target, double s) const {
    const auto [gap, correction] =
        exponential_gap(target * std::exp(std::min(-margin, exponent_limit)), -s);
    return {gap, -correction};
  }
};

/// (y + theta) log(e^m + theta) - y m: counts with mean e^m and variance e^m + e^2m / theta.
struct NegativeBinomialLoss {
  double theta = 1;
  LossPoint at(double margin, double target) const {
    const double z = margin - std::log(theta);
    const double decay = std::exp(-std::abs(z));
    const double share = (z >= 0 ? 1 : decay) / (1 + decay);
    const double log_sum = std::max(z, 0.0) + std::log1p(decay) + std::log(theta);
    const double size = target + theta;
    return {size * log_sum - target * margin, size * share - target,
            size * decay / ((1 + decay) * (1 + decay))};
  }
  FenchelGap gap(double margin, double target, double s) const {
    const auto [gap, correction] = LogisticLoss{}.gap(margin - std::log(theta), 0, s);
    return {(target + theta) * gap, (target + theta) * correction};
  }
};

/// max(0, 1 - s m)^2 with s = -1 for class 0 and 1 for class 1.
struct SquaredHingeLoss {
  LossPoint at(double margin, double target) const {
    const double sign = 2 * target - 1;
    const double hinge = std::max(0.0, 1 - sign * margin);
    return {hinge * hinge, -2 * sign * hinge, hinge > 0 ? 2.0 : 0.0};
  }
  FenchelGap gap(double margin, double target, double s) const {
    const double sign = 2 * target - 1, hinge = 1 - sign * margin;
    if (!(hinge > 0)) return {};
    const double next = std::max(0.0, hinge - sign * s);  // the slope is -2 sign next
    return {(hinge - next) * (hinge - next), -2 * sign * (next - (hinge - sign * s))};
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
  FenchelGap gap(double, double, double) const { return {std::nan("")}; }  ///< not known

  std::string name;  ///< with its arguments, as --loss takes it
  std::shared_ptr<const LossFunction> function;
  double max_second_derivative;
};

/// All but a custom loss, which goes sample by sample, have vectorized kernels.
using Loss = std::variant<LogisticLoss, SquaredLoss, HuberLoss, PoissonLoss, GammaLoss,
                          NegativeBinomialLoss, SquaredHingeLoss, CustomLoss>;

inline bool is_classification(const Loss& loss) {
  const auto* custom = std::get_if<CustomLoss>(&loss);
  return custom ? custom->function->is_classification()
                : std::holds_alternative<LogisticLoss>(loss) ||
                      std::holds_alternative<SquaredHingeLoss>(loss);
}

/// Only the logistic loss is the likelihood of a class.
inline bool has_probabilities(const Loss& loss) {
  return std::holds_alternative<LogisticLoss>(loss);
}

/// The number that a regression predicts at that margin: of losses with a log link its exponential.
inline double predicted_at(const Loss& loss, double margin) {
  const bool log_link = std::holds_alternative<PoissonLoss>(loss) ||
                        std::holds_alternative<GammaLoss>(loss) ||
                        std::holds_alternative<NegativeBinomialLoss>(loss);
  return log_link ? std::exp(margin) : margin;
}

/// The largest second derivative of a sample with this target. Poisson and gamma losses have none:
/// theirs is that of a model that fits the target, which gives the scale of a Hessian and no bound.
double usual_second_derivative(const Loss& loss, double target);

/// What the loss takes off its value at the best margin for each target: with it no value is
/// negative, and twice the value is the unit deviance.
double least_value(const Loss& loss, double target);

/// What is wrong with a target, where the loss takes not all numbers.
std::optional<std::string> target_complaint(const Loss& loss, double target);

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

/// The logarithm of the robust scale of one agent's targets: 1.4826 times the median distance from
/// their median. NaN where all targets are equal.
double log_target_scale(const Vector& targets);
/// The loss with delta in the units of the targets. The scale is the geometric mean of the agents'
/// scales, NaN left out, and 1 where there are none.
Loss in_target_units(const Loss& loss, std::span<const double> log_target_scales);

}  // namespace grove
