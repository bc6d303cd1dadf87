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

}  // namespace

Measurer::Measurer(const Instance& instance, const ReferenceSolution* reference)
    : instance_(instance), reference_(reference), smoothness_(instance.mean->smoothness()) {}

Measures Measurer::measure(std::span<const std::unique_ptr<Agent>> agents) {
  Measures result;
  const Vector* theta = nullptr;
  mean_ = Vector::Zero(instance_.dimension());
  for (const auto& agent : agents) {
    mean_ += agent->estimate();
    if (theta == nullptr) theta = agent->regularized_estimate();
  }
  mean_ /= static_cast<double>(agents.size());

  double spread = 0;
  for (const auto& agent : agents) {
    spread += (agent->estimate() - mean_).squaredNorm();
    if (reference_) result.squared_error += (agent->estimate() - reference_->x).squaredNorm();
  }
  result.consensus_error = std::sqrt(spread / static_cast<double>(agents.size()));
  result.mean_norm = mean_.norm();
  const double value_at_mean =
      instance_.mean->evaluate(mean_, Batch::all(), &gradient_, nullptr, scratch_);
  result.stationarity = stationarity(mean_, gradient_, instance_.regularizer, smoothness_);
  result.solution = theta ? *theta : within_bounds(mean_, instance_.regularizer);
  result.objective =
      instance_.regularizer.value(result.solution) +
      (theta ? instance_.mean->evaluate(*theta, Batch::all(), nullptr, nullptr, scratch_)
             : value_at_mean);
  result.finite =
      std::isfinite(spread) && std::isfinite(result.stationarity) && result.solution.allFinite();
  return result;
}

}  // namespace grove
