#include "grove/run/measures.h"

#include <cmath>

namespace grove {
namespace {

/// The mean of points in a box lies in the box, but for rounding, which would cost an infinity.
Vector within_bounds(const Vector& mean, Regularizer bounds) {
  Vector result;
  bounds.l1 = 0;
  bounds.prox(1, mean, result);
  return result;
}

/// Agents agree on a zero only in the limit, so that their mean has none: r's own prox finds them.
Index nonzeros_after_step(const Vector& x, const Vector& gradient, const Regularizer& regularizer,
                          double smoothness, Index features) {
  Vector landed;
  regularizer.prox(1 / smoothness, x - gradient / smoothness, landed);
  return (landed.head(features).array() != 0).count();
}

}  // namespace

Measurer::Measurer(const Instance& instance, const ReferenceSolution* reference)
    : instance_(instance), reference_(reference), smoothness_(instance.mean->smoothness()) {}

Measures Measurer::measure(const Estimates& estimates) {
  Measures result;
  const auto agents = static_cast<double>(estimates.x.size());
  const Vector* theta = estimates.theta ? &*estimates.theta : nullptr;
  mean_ = Vector::Zero(instance_.dimension());
  for (const Vector& x : estimates.x) mean_ += x;
  mean_ /= agents;

  double spread = 0;
  for (const Vector& x : estimates.x) {
    spread += (x - mean_).squaredNorm();
    if (reference_) result.squared_error += (x - reference_->x).squaredNorm();
  }
  result.consensus_error = std::sqrt(spread / agents);
  result.mean_norm = mean_.norm();
  const double value_at_mean =
      instance_.mean->evaluate(mean_, Batch::all(), &gradient_, nullptr, scratch_);
  result.stationarity = stationarity(mean_, gradient_, instance_.regularizer, smoothness_);
  result.step_length = result.stationarity / smoothness_;
  result.solution = theta ? *theta : within_bounds(mean_, instance_.regularizer);
  result.objective =
      instance_.regularizer.value(result.solution) +
      (theta ? instance_.mean->evaluate(*theta, Batch::all(), nullptr, nullptr, scratch_)
             : value_at_mean);
  result.nonzeros = theta ? (theta->head(instance_.features).array() != 0).count()
                          : nonzeros_after_step(mean_, gradient_, instance_.regularizer,
                                                smoothness_, instance_.features);
  result.finite =
      std::isfinite(spread) && std::isfinite(result.stationarity) && result.solution.allFinite();
  return result;
}

}  // namespace grove
