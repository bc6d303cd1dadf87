#include "grove/problem/loss.h"

#include <limits>

#include "grove/base/text.h"
#include "grove/problem/column_scaling.h"

namespace grove {
namespace {

/// A loss without arguments.
template <class Form>
LossEntry plain(std::string name) {
  return {name, name, [name](std::string_view arguments) -> Result<Loss> {
            if (arguments.empty()) return Loss(Form{});
            return Error{"", name + " takes no number"};
          }};
}

Result<Loss> make_huber(std::string_view arguments) {
  if (arguments.empty()) return Loss(HuberLoss{});
  const auto delta = parse_double(arguments);
  if (delta && *delta > 0 && std::isfinite(*delta)) return Loss(HuberLoss{*delta});
  return Error{"", "expected huber or huber:DELTA with DELTA above 0"};
}

Result<Loss> make_scaled_huber(std::string_view arguments) {
  HuberLoss loss{.of_target_scale = true};
  if (arguments.empty()) return Loss(loss);
  const auto multiple = parse_double(arguments);
  if (!multiple || !(*multiple > 0) || !std::isfinite(*multiple))
    return Error{"", "expected huber-scaled or huber-scaled:K with K above 0"};
  loss.delta = *multiple;
  return Loss(loss);
}

Result<Loss> make_negative_binomial(std::string_view arguments) {
  const auto theta = parse_double(arguments);
  if (theta && *theta > 0 && std::isfinite(*theta)) return Loss(NegativeBinomialLoss{*theta});
  return Error{"", "expected negative-binomial:THETA with THETA above 0"};
}

struct UsualSecondDerivative {
  double target;
  double operator()(const LogisticLoss&) const { return 0.25; }
  double operator()(const SquaredLoss&) const { return 1; }
  double operator()(const HuberLoss&) const { return 1; }
  double operator()(const PoissonLoss&) const { return target + 1; }
  double operator()(const GammaLoss&) const { return 1; }
  double operator()(const NegativeBinomialLoss& loss) const { return (target + loss.theta) / 4; }
  double operator()(const SquaredHingeLoss&) const { return 2; }
  double operator()(const CustomLoss& custom) const { return custom.max_second_derivative; }
};

double x_log_x(double x) { return x > 0 ? x * std::log(x) : 0; }

struct LeastValue {
  double target;
  double operator()(const LogisticLoss&) const { return 0; }
  double operator()(const SquaredLoss&) const { return 0; }
  double operator()(const HuberLoss&) const { return 0; }
  double operator()(const PoissonLoss&) const { return target - x_log_x(target); }
  double operator()(const GammaLoss&) const { return target > 0 ? 1 + std::log(target) : 0; }
  double operator()(const NegativeBinomialLoss& loss) const {
    return x_log_x(target + loss.theta) - x_log_x(target);
  }
  double operator()(const SquaredHingeLoss&) const { return 0; }
  double operator()(const CustomLoss&) const { return 0; }
};

struct NameOf {
  std::string operator()(const LogisticLoss&) const { return "logistic"; }
  std::string operator()(const SquaredLoss&) const { return "squared"; }
  std::string operator()(const HuberLoss& huber) const {
    return (huber.of_target_scale ? "huber-scaled:" : "huber:") + exact(huber.delta);
  }
  std::string operator()(const PoissonLoss&) const { return "poisson"; }
  std::string operator()(const GammaLoss&) const { return "gamma"; }
  std::string operator()(const NegativeBinomialLoss& loss) const {
    return "negative-binomial:" + exact(loss.theta);
  }
  std::string operator()(const SquaredHingeLoss&) const { return "squared-hinge"; }
  std::string operator()(const CustomLoss& custom) const { return custom.name; }
};

}  // namespace

std::vector<LossEntry> built_in_losses() {
  return {plain<LogisticLoss>("logistic"),
          plain<SquaredLoss>("squared"),
          {"huber", "huber[:DELTA]", make_huber},
          {"huber-scaled", "huber-scaled[:K]", make_scaled_huber},
          plain<PoissonLoss>("poisson"),
          plain<GammaLoss>("gamma"),
          {"negative-binomial", "negative-binomial:THETA", make_negative_binomial},
          plain<SquaredHingeLoss>("squared-hinge"),
          // What statisticians call two of them.
          plain<LogisticLoss>("binomial"),
          plain<SquaredLoss>("gaussian")};
}

FenchelGap bernoulli_gap(double one, double zero, double s) {
  const double up = zero * s, down = -one * s;  // relative changes of both probabilities
  if (up <= -1) return {-std::log1p(-one), one * (-1 - up)};
  if (down <= -1) return {-std::log1p(-zero), -zero * (-1 - down)};
  return {std::max(0.0, one * (1 + up) * std::log1p(up) + zero * (1 + down) * std::log1p(down))};
}

FenchelGap exponential_gap(double value, double s) {
  if (value == 0) return {};
  if (s <= -1) return {value, value * (-1 - s)};
  return {std::max(0.0, value * ((1 + s) * std::log1p(s) - s))};
}

double usual_second_derivative(const Loss& loss, double target) {
  return std::visit(UsualSecondDerivative{target}, loss);
}

double least_value(const Loss& loss, double target) { return std::visit(LeastValue{target}, loss); }

std::optional<std::string> target_complaint(const Loss& loss, double target) {
  if (std::holds_alternative<PoissonLoss>(loss) ||
      std::holds_alternative<NegativeBinomialLoss>(loss))
    if (!(target >= 0)) return "expected a count of at least 0";
  if (std::holds_alternative<GammaLoss>(loss))
    if (!(target > 0)) return "expected a number above 0";
  return std::nullopt;
}

std::string name_of(const Loss& loss) { return std::visit(NameOf{}, loss); }

double log_target_scale(const Vector& targets) {
  const std::vector<double> numbers(targets.begin(), targets.end());
  if (numbers.empty()) return std::nan("");
  const double scale = robust_spread(numbers, median_of(numbers));
  return scale > 0 ? std::log(scale) : std::nan("");
}

Loss in_target_units(const Loss& loss, std::span<const double> log_target_scales) {
  const auto* huber = std::get_if<HuberLoss>(&loss);
  if (huber == nullptr || !huber->of_target_scale) return loss;
  double sum = 0;
  int scales = 0;
  for (const double logarithm : log_target_scales) {
    if (std::isnan(logarithm)) continue;
    sum += logarithm;
    ++scales;
  }
  return HuberLoss{.delta = huber->delta * (scales > 0 ? std::exp(sum / scales) : 1)};
}

}  // namespace grove
