#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "grove/record/record.h"
#include "grove/train/measures.h"

namespace grove {

/// When a run is over, judged from measures alone. All scales are the problem's own, so that the
/// rule does not change when features or losses are rescaled; the first step's length is there for
/// problems whose answer is zero.
class Stopping {
 public:
  Stopping(double tolerance, const Measures& start) : tolerance_(tolerance), start_(start) {}

  bool converged(const Measures& now) const {
    return tolerance_ > 0 &&
           now.stationarity <=
               std::max(tolerance_ * start_.stationarity, rounding * start_.stationarity_bound) &&
           agreed({now.consensus_error, now.mean_norm});
  }

  /// Nothing has converged without it.
  bool agreed(const Agreement& now) const {
    return now.consensus_error <= std::max(tolerance_ * std::max(now.mean_norm, start_.step_length),
                                           rounding * start_.step_bound);
  }

  /// Iterates overflowed, or the objective is a million times its start: no run comes back.
  bool diverged(const Measures& now) const {
    return !now.finite || now.objective > 1e6 * std::abs(start_.objective);
  }

  /// For steps that are not guaranteed to converge: the objective was above its start in each of
  /// the last hundred measured rounds. Bounded gradients keep such a run from overflowing.
  static bool wanders(std::span<const TracePoint> trace) {
    constexpr std::size_t patience = 100;
    return trace.size() > patience &&
           std::ranges::all_of(trace.last(patience), [&](const TracePoint& point) {
             return point.objective > trace.front().objective;
           });
  }

 private:
  /// What is left at an optimum, as a share of what the terms of a sum are.
  static constexpr double rounding = 4 * std::numeric_limits<double>::epsilon();

  double tolerance_;
  Measures start_;
};

}  // namespace grove
