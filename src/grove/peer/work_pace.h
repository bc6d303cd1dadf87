#pragma once

#include <cstdint>
#include <string>

#include "grove/setup/local_steps_policy.h"

namespace grove::peer {

/// Chooses the number of local steps for `--work auto`, from the measured time of a local step and
/// the neighbours' times, which arrive in heartbeats. The caller provides all times, in seconds.
class WorkPace {
 public:
  struct Neighbour {
    std::string name;
    double step_seconds = 0;  ///< 0: unknown
  };

  explicit WorkPace(int steps) : choice_{.steps = steps} {}

  void observe(double seconds, std::uint64_t steps);  ///< times of one activation
  double step_seconds() const { return step_; }       ///< 0 until the first local step
  /// Chooses as many steps as fit into one step of the slowest neighbour.
  void choose(const Neighbour& slowest);
  const LocalStepsChoice& choice() const { return choice_; }

 private:
  double step_ = 0;
  LocalStepsChoice choice_;
};

}  // namespace grove::peer
