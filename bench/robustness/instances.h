#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "grove/train/problem.h"
#include "robustness/oracle.h"

namespace robustness {

/// A random table as people have them, with the options of a run on it.
struct Instance {
  std::string name;  ///< what is special about it
  oracle::Task task;
  std::vector<std::uint32_t> agents;  ///< of every row
  grove::Options options;             ///< without the partition, which is `agents`
};

/// Losses, constraints, units from 1e-6 to 1e6, shifts, outliers times 1e6, collinear and constant
/// columns, one-row and single-class agents, skewed shards, 2 to 12 agents, all link weights.
Instance draw(std::uint64_t seed);

}  // namespace robustness
