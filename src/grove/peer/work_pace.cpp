#include "grove/peer/work_pace.h"

namespace grove::peer {
namespace {

constexpr double smoothing = 0.8;  ///< weight of earlier measurements in the moving average

}  // namespace

void WorkPace::observe(double seconds, std::uint64_t steps) {
  if (steps == 0 || !(seconds > 0)) return;
  const double step = seconds / static_cast<double>(steps);
  step_ = step_ > 0 ? smoothing * step_ + (1 - smoothing) * step : step;
}

/// Ignores the time of messages, which is the same on both sides.
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
