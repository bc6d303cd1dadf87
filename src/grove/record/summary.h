#pragma once

#include <string>
#include <utility>
#include <vector>

#include "grove/record/plot.h"
#include "grove/record/record.h"

namespace grove {

/// The closing summary of a run, for a person.
std::string summary_text(const RunRecord& record);

/// One row per named run: how it ended and what it cost; below, why each took so long.
std::string comparison_table(const std::vector<std::pair<std::string, RunRecord>>& runs);

/// Convergence over rounds, or over simulated seconds where all runs have them: relative error
/// where there is a reference, stationarity otherwise.
Figure convergence_figure(const std::vector<std::pair<std::string, RunRecord>>& runs);

/// "1.2 kB", "35 ms": numbers with a unit that suits them.
std::string human_bytes(double bytes);
std::string human_seconds(double seconds);

}  // namespace grove
