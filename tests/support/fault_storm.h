#pragma once

#include <optional>
#include <string>

#include "support/tree_network.h"

namespace grove::testing_support {

/// How one random run of tree-newton ended.
struct StormOutcome {
  bool exact = false;  ///< all finished, at the optimum of the members that are there at the end
  std::uint64_t rounds = 0;
  double squared_error = 0;  ///< relative to the optimum
  std::uint64_t refused_totals = 0;
  std::string description;
};

/// A network of 4 to 10 agents with three kinds of losses, with or without l1, under participation
/// from 0.1 to 1, loss up to 50 %, delays up to 10 rounds with overtaking, duplicates up to 30 %,
/// and one to four of: rollback, lost state, silence of 20 to 800 rounds, a cut link; and an agent
/// that leaves and is forgotten, and one that joins. Nothing where the faults would leave the
/// network apart.
std::optional<StormOutcome> fault_storm(std::uint64_t seed, HessianWaves hessians,
                                        bool masked = false);

/// How a hard instance ended: separable data, far starts, scaled columns, Poisson counts of
/// thousands, one huge row, labels sorted over the agents.
struct HardOutcome {
  bool finished = false;
  double gap = 0;  ///< of the objective, relative
  std::uint64_t waves = 0;
  std::string kind;
  bool undamped = false;  ///< Newton's method without a line search gets there, too
};
HardOutcome hard_instance(std::uint64_t seed, const TreeNewtonOptions& options,
                          bool masked = false);

}  // namespace grove::testing_support
