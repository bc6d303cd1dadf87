#include "grove/coupling/residual_balancing.h"

#include <cmath>

namespace grove {
namespace {

constexpr double shortest_window = 10;  ///< observations
constexpr double slow_decrease = 0.1;   ///< share of the squared residual left after a window
constexpr double imbalance = 100;       ///< squared residual over squared step

}  // namespace

bool ResidualBalancing::observe(double squared_residual, double network_depth) {
  now_.residual += squared_residual;
  if (++observed_ < shortest_window + 2 * network_depth) return false;
  const bool raise = before_.residual > 0 && now_.residual > slow_decrease * before_.residual &&
                     now_.residual > imbalance * now_.step;
  before_ = now_;
  now_ = {};
  observed_ = 0;
  if (!raise || changes_ == most_changes) return false;
  ++changes_;
  before_ = {};  // with other weights there is nothing to compare with yet
  return true;
}

double ResidualBalancing::factor() const { return std::pow(change, changes_); }

}  // namespace grove
