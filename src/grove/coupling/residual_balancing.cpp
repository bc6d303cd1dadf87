#include "grove/coupling/residual_balancing.h"

#include <cmath>

namespace grove {
namespace {

constexpr double shortest_window = 10;  ///< observations
constexpr double standstill = 0.1;      ///< of the squared disagreement left by a window: too much
constexpr double out_of_balance = 100;  ///< disagreement over movement, squared: ten to one

}  // namespace

bool ResidualBalancing::observe(double disagreement, double network_depth) {
  now_.disagreement += disagreement;
  if (++seen_ < shortest_window + 2 * network_depth) return false;
  const bool stalls = before_.disagreement > 0 &&
                      now_.disagreement > standstill * before_.disagreement &&
                      now_.disagreement > out_of_balance * now_.movement;
  before_ = now_;
  now_ = {};
  seen_ = 0;
  if (!stalls || changes_ == most_changes) return false;
  ++changes_;
  before_ = {};  // other links: nothing to compare with yet
  return true;
}

double ResidualBalancing::factor() const { return std::pow(change, changes_); }

}  // namespace grove
