#pragma once

#include <string>
#include <vector>

#include "grove/record/convergence.h"

namespace grove {

/// One row per series: how its runs ended and what they cost. Several seeds are shown by medians,
/// rounds with quartiles. Below: the explanations of slow runs.
std::string comparison_table(const std::vector<RunSeries>& series);

}  // namespace grove
