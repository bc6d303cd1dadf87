#include "grove/peer/work_pace.h"

namespace grove::peer {
namespace {

constexpr double memory = 0.8;  ///< of what was measured before: one slow activation is no news

}  // namespace

void WorkPace::observe(double seconds, std::uint64_t steps) {
  if (steps == 0 || !(seconds > 0)) return;
  const double step = seconds / static_cast<double>(steps);
  step_ = step_ > 0 ? memory * step_ + (1 - memory) * step : step;
}

/// Messages are left out on both sides: they take as long there as here.
void WorkPace::choose(const Neighbour& slowest) {
  if (step_ == 0 || slowest.step_seconds == 0) return;
  choice_ = choose_work({.step = step_,
                         .turn = step_,
                         .neighbour_step = slowest.step_seconds,
                         .neighbour_turn = slowest.step_seconds,
                         .neighbour = slowest.name},
                        false);
}

}  // namespace grove::peer
