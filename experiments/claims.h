#pragma once

#include <string>
#include <vector>

#include "experiments/reproduce.h"

namespace grove::experiments {

/// The measurement that corresponds to a statement of the paper in one setting.
struct ClaimRow {
  std::string setting;
  std::string measured;
  std::string why;  ///< they differ: computed from the runs of this job
};

/// A statement of the paper with numbers.
struct Claim {
  std::string paper;
  std::vector<ClaimRow> rows;
};

/// The statements that belong to the figures of `findings`.
std::vector<Claim> claims_of(const Findings& findings);

}  // namespace grove::experiments
