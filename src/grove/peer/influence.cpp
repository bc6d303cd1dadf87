#include "grove/peer/influence.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace grove::peer {
namespace {

/// Of the largest Hessian that the settings allow. Weights are scaled Hessians; those of real data
/// are far below the largest one. An honest peer scales its weight down to the bound.
constexpr double weight_factor = 2;
/// Gradients of links may overshoot on the way to the optimum.
constexpr double overshoot = 2;

struct LossBounds {
  double slope, second_derivative;
};

std::optional<LossBounds> bounds_of(const Loss& loss) {
  if (std::holds_alternative<LogisticLoss>(loss)) return LossBounds{1, 0.25};
  if (const auto* huber = std::get_if<HuberLoss>(&loss)) return LossBounds{huber->delta, 1};
  return std::nullopt;
}

}  // namespace

GradientLimit InfluenceBound::link(std::size_t members) const {
  const double factor = overshoot * static_cast<double>(std::max<std::size_t>(members, 2) - 1);
  return {.length = factor * member.length, .ridge = factor * member.ridge};
}

Result<std::optional<InfluenceBound>> influence_bound(const InfluenceSettings& settings,
                                                      const InfluenceTerms& terms) {
  if (settings.feature_bound == 0) return std::optional<InfluenceBound>();
  const auto loss = bounds_of(terms.loss);
  if (!loss)
    return Error{"feature-bound",
                 "the gradients of this loss have no bound; expected loss = logistic or huber"};
  const auto features = static_cast<double>(terms.features);
  const double squares =
      features * settings.feature_bound * settings.feature_bound + (terms.intercept ? 1 : 0);
  const double coefficients = features + (terms.intercept ? 1 : 0);
  return std::optional(
      InfluenceBound{.mean_diagonal = weight_factor * settings.max_scale *
                                      (loss->second_derivative * squares / coefficients + terms.l2),
                     .member = {.length = settings.max_scale * loss->slope * std::sqrt(squares) +
                                          terms.l1 * std::sqrt(features),
                                .ridge = settings.max_scale * terms.l2}});
}

Status check_influence(const InfluenceSettings& settings, const Samples& samples,
                       const std::optional<ColumnNames>& columns, double scale) {
  if (settings.feature_bound == 0) return success();
  if (scale > settings.max_scale)
    return Error{"scale", fmt::format("{:g} is larger than max-scale; expected at most {:g}", scale,
                                      settings.max_scale)};
  Status status = success();
  for (Index row = 0; row < samples.count() && status; ++row)
    for_each_nonzero(samples, row, [&](Index column, double value) {
      if (std::abs(value) <= settings.feature_bound || !status) return;
      const std::string name = columns ? columns->features[static_cast<std::size_t>(column)]
                                       : std::to_string(column + 1);
      status =
          Error{"feature-bound", fmt::format("row {}, column {} is {:g}; expected at most {:g}",
                                             row + 1, name, value, settings.feature_bound)};
    });
  return status;
}

}  // namespace grove::peer
