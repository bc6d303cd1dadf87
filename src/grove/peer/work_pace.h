#pragma once

#include <cstdint>
#include <string>

#include "grove/setup/local_steps_policy.h"

namespace grove::peer {

/// `--work auto` of a peer: how long a local step takes is measured, and its neighbours tell the
/// same of theirs in heartbeats. Times are given by the caller, in seconds.
class WorkPace {
 public:
  struct Neighbour {
    std::string name;
    double step_seconds = 0;  ///< 0: not known
  };

  explicit WorkPace(int steps) : choice_{.steps = steps} {}

  void observe(double seconds, std::uint64_t steps);  ///< one activation
  double step_seconds() const { return step_; }       ///< 0 until an activation took a step
  /// As many steps as the slowest neighbour takes for one of its own.
  void choose(const Neighbour& slowest);
  const LocalStepsChoice& choice() const { return choice_; }

 private:
  double step_ = 0;
  LocalStepsChoice choice_;
};

}  // namespace grove::peer
