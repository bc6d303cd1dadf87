#pragma once

#include <string>
#include <vector>

#include "grove/runtime/machines.h"
#include "grove/setup/config.h"
#include "grove/setup/instance.h"

namespace grove {

/// E_i of an agent that knows how fast its machine is, and why.
struct LocalStepsChoice {
  int steps = 1;
  std::string reason;
};

/// What an agent knows: its own times and those that its neighbours send. Seconds.
struct WorkTimes {
  double step = 0;  ///< one local step of its own
  double turn = 0;  ///< that and the slowest of its messages
  double neighbour_step = 0, neighbour_turn = 0;
  std::string neighbour;  ///< the one whose step (free-running) or turn (lock-step) counts
};

/// In lock-step a round lasts at least as long as the longest turn, and a step that ends before it
/// costs nobody any time. Free-running agents receive news as often as their quickest neighbour has
/// some; a step beyond that makes their own news late. Where messages take long, a tenth of a turn
/// more is small change.
LocalStepsChoice choose_work(const WorkTimes& times, bool free_running);

/// `--work auto` on machines of known speed, by agent (docs/reference/simulated-machines.md). An
/// agent goes by its own times and by two numbers that each neighbour would send once: how long a
/// local step takes it, and how long that and its slowest message.
std::vector<LocalStepsChoice> choose_work(const Config& config, const Instance& instance,
                                          const Machines& machines);

}  // namespace grove
