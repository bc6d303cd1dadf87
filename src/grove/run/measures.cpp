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
    : instance_(instance), reference_(reference), smoothness_(instance.mean->smoothness()) {
  if (!(smoothness_ > 0)) smoothness_ = 1;  // a constant f: any scale measures it
}

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
  result.nonzeros = (result.solution.head(instance_.features).array() != 0).count();
  result.finite =
      std::isfinite(spread) && std::isfinite(result.stationarity) && result.solution.allFinite();
  return result;
}

}  // namespace grove
