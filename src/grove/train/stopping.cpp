#include "grove/train/stopping.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace grove {
namespace {

/// Optima below this share of the objective at the start count as that large.
constexpr double smallest_optimum = 1e-7;

/// Changes of the objective below this share of it may be rounding.
constexpr double rest = 1e-12;

/// What is left at an optimum, as a share of what the terms of a sum are.
constexpr double rounding_share = 4 * std::numeric_limits<double>::epsilon();

}  // namespace

StoppingRule::StoppingRule(const Instance& instance, double tolerance, const Measures& start)
    : instance_(instance),
      tolerance_(tolerance),
      start_(start),
      mean_(instance.scaled(instance.mean)),
      regularizer_(instance.scaled_regularizer()),
      certifier_(*mean_, regularizer_) {}

/// The value that a gap is relative to.
double StoppingRule::least(double value) const {
  return std::max(value, smallest_optimum * std::abs(start_.objective));
}

bool StoppingRule::converged(const Measures& now, const Estimates& estimates,
                             std::span<const TracePoint> trace) {
  if (tolerance_ <= 0 || !now.finite) return false;
  if (!separable()) return at_rest(now);
  if (!is_worth_a_look(now, trace)) return false;
  certify(now);
  return last_->gap <= tolerance_ * least(last_->value - last_->gap) &&
         agents_agree(now, estimates);
}

bool StoppingRule::at_rest(const Measures& now) const {
  return tolerance_ > 0 &&
         now.stationarity <= std::max(tolerance_ * start_.stationarity,
                                      rounding_share * start_.stationarity_bound) &&
         now.consensus_error <= std::max(tolerance_ * std::max(now.mean_norm, start_.step_length),
                                         rounding_share * start_.step_bound);
}

namespace {

/// What the objective may still fall by, if it goes on falling as it did over the last six measured
/// rounds; nothing where these do not say.
std::optional<double> predicted_fall(std::span<const TracePoint> trace) {
  constexpr std::size_t window = 3;
  if (trace.size() <= 2 * window) return std::nullopt;
  const auto objective = [&](std::size_t back) { return trace[trace.size() - 1 - back].objective; };
  const double fall = objective(window) - objective(0);
  const double before = objective(2 * window) - objective(window);
  if (!(fall > 0) || !(before > fall)) return std::nullopt;
  return fall * fall / (before - fall);
}

}  // namespace

bool StoppingRule::is_worth_a_look(const Measures& now, std::span<const TracePoint> trace) const {
  if (trace.size() < 2) return true;
  const TracePoint &before = trace[trace.size() - 2], &last = trace.back();
  constexpr Round parts = 16;
  const Round spacing = std::max<Round>(1, last.round / parts);
  if (last.round / spacing == before.round / spacing) return false;
  const double goal = std::max(tolerance_ * least(now.objective), rest * std::abs(now.objective));
  const double change = std::abs(now.objective - before.objective);
  if (change <= 0.1 * goal) return true;
  return change <= 10 * goal && predicted_fall(trace).value_or(0) <= 1.5 * goal;
}

void StoppingRule::certify(const Measures& now) {
  if (last_ && certified_ == now.solution) return;
  const Vector x = instance_.to_scaled(now.solution);
  last_ = certifier_.at(x);
  flat_ = certifier_.is_flat(x);
  certified_ = now.solution;
}

bool StoppingRule::agents_agree(const Measures& now, const Estimates& estimates) {
  const double goal = tolerance_ * least(last_->value - last_->gap);
  const Vector answer = instance_.to_scaled(now.solution);
  return std::ranges::all_of(estimates.x, [&](const Vector& x) {
    return certifier_.distance(answer, instance_.scaling ? instance_.scaling->to_scaled(x) : x) <=
           goal;
  });
}

bool StoppingRule::step_is_long() const {
  constexpr double share = 1e-3;
  return last_ && last_->step.norm() > share * instance_.to_scaled(certified_).norm();
}

bool StoppingRule::has_no_minimizer(const Measures& now) const {
  return tolerance_ > 0 && now.finite && instance_.regularizer.trivial() &&
         instance_.mean->falls_along(now.solution);
}

std::optional<double> StoppingRule::gap_bound(const Measures& now) {
  if (!separable() || !now.finite) return std::nullopt;
  certify(now);
  if (!std::isfinite(last_->gap)) return std::nullopt;
  return last_->gap / least(last_->value - last_->gap);
}

bool has_diverged(const Measures& now, std::span<const TracePoint> trace, bool beyond_bound) {
  constexpr Round window = 100;
  if (!now.finite) return true;
  const Round round = trace.back().round;
  const double limit = (beyond_bound ? 1 : 1e6) * std::abs(trace.front().objective);
  return round >= window && std::ranges::all_of(trace, [&](const TracePoint& point) {
           return point.round + window <= round || point.objective > limit;
         });
}

}  // namespace grove
