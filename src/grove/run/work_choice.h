#pragma once

#include <string>
#include <vector>

#include "grove/run/config.h"
#include "grove/run/instance.h"
#include "grove/runtime/machines.h"

namespace grove {

/// E_i of an agent that knows how fast its machine is, and why.
struct WorkChoice {
  int steps = 1;
  std::string reason;
};

/// `--work auto` on machines of known speed, by agent (docs/methods/unequal_machines.md). An agent
/// goes by its own times and by two numbers that each neighbour would tell once: how long a local
/// step takes it, and how long that and its slowest message.
std::vector<WorkChoice> choose_work(const Config& config, const Instance& instance,
                                    const Machines& machines);

}  // namespace grove
