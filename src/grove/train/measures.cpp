#include "grove/train/measures.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace grove {
namespace {

/// The mean of points in a box lies in the box, but for rounding, which would cost an infinity.
Vector within_bounds(const Vector& mean, Regularizer bounds) {
  if (!bounds.separable()) return mean;
  Vector result;
  bounds.l1 = 0;
  bounds.prox(1, mean, result);
  return result;
}

/// Moves coordinates to where more than half of the agents are, if that is a kink or bound of r.
void settle_by_majority(const std::vector<Vector>& x, const Regularizer& regularizer,
                        Vector& answer) {
  const auto settle = [&](Index k, double value) {
    const auto there = std::ranges::count_if(x, [&](const Vector& own) { return own[k] == value; });
    if (2 * static_cast<std::size_t>(there) > x.size()) answer[k] = value;
  };
  for (Index k = 0; k < regularizer.regularized; ++k) {
    if (regularizer.l1 > 0) settle(k, 0);
    settle(k, regularizer.low);
    settle(k, regularizer.high);
  }
}

}  // namespace

Measurer::Measurer(const Instance& instance, const ReferenceSolution* reference, Answer answer)
    : instance_(instance),
      reference_(reference),
      answer_(answer),
      smoothness_(instance.mean->smoothness()) {
  if (!(smoothness_ > 0)) smoothness_ = 1;  // a constant f: any scale measures it
}

void Measurer::measure_consensus(const Estimates& estimates, Measures& result) {
  const auto agents = static_cast<double>(estimates.x.size());
  mean_ = Vector::Zero(instance_.dimension());
  for (const Vector& x : estimates.x) mean_ += x;
  mean_ /= agents;
  double spread = 0;
  for (const Vector& x : estimates.x) spread += (x - mean_).squaredNorm();
  result.consensus_error = std::sqrt(spread / agents);
  result.mean_norm = mean_.norm();
}

double Measurer::worst_objective(const Estimates& estimates) {
  Regularizer penalty = instance_.regularizer;
  penalty.low = -std::numeric_limits<double>::infinity();
  penalty.high = std::numeric_limits<double>::infinity();
  double worst = -std::numeric_limits<double>::infinity();
  for (const Vector& x : estimates.x)
    worst = std::max(worst, penalty.value(x) + instance_.mean->evaluate(x, Batch::all(), nullptr,
                                                                        nullptr, scratch_));
  return worst;
}

Measures Measurer::measure(const Estimates& estimates) {
  Measures result;
  const Vector* theta = estimates.theta ? &*estimates.theta : nullptr;
  measure_consensus(estimates, result);
  if (reference_)
    for (const Vector& x : estimates.x) result.squared_error += (x - reference_->x).squaredNorm();
  result.solution = theta ? *theta : within_bounds(mean_, instance_.regularizer);
  if (!theta && answer_ == Answer::majority_support)
    settle_by_majority(estimates.x, instance_.regularizer, result.solution);
  result.measured_at = theta ? mean_ : result.solution;
  const double value = instance_.mean->evaluate(result.measured_at, Batch::all(), &result.gradient,
                                                nullptr, scratch_);
  result.stationarity =
      stationarity(result.measured_at, result.gradient, instance_.regularizer, smoothness_);
  result.step_length = result.stationarity / smoothness_;
  result.stationarity_bound = std::sqrt(2 * smoothness_ * value);
  result.step_bound = result.stationarity_bound / smoothness_;
  result.objective =
      instance_.regularizer.value(result.solution) +
      (theta ? instance_.mean->evaluate(*theta, Batch::all(), nullptr, nullptr, scratch_) : value);
  result.nonzeros = (result.solution.head(instance_.features).array() != 0).count();
  result.finite = std::isfinite(result.consensus_error) && std::isfinite(result.stationarity) &&
                  result.solution.allFinite();
  return result;
}

}  // namespace grove
