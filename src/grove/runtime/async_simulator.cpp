#include "grove/runtime/async_simulator.h"

#include <algorithm>

namespace grove {

void AsyncSimulator::advance() {
  round_began_ = events_.now();
  const std::size_t count = events_.agents().size();
  worked_.assign(count, false);
  for (std::size_t finished = 0; finished < count;)
    if (const auto agent = events_.play_one()) {
      worked_[agent->value] = true;
      ++finished;
    }
  active_ = static_cast<std::size_t>(std::ranges::count(worked_, true));
  ++round_;
}

Status AsyncSimulator::restore(Round, std::span<const std::string>) {
  return Error{"--checkpoint", "free-running agents have no rounds to go on from"};
}

}  // namespace grove
