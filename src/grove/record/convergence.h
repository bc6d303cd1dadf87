#pragma once

#include <string>
#include <vector>

#include "grove/record/plot.h"
#include "grove/record/record.h"

namespace grove {

/// Runs that are drawn as one curve: of one method, one for each seed.
struct RunSeries {
  std::string name;
  std::vector<RunRecord> runs;
  std::string tuned = {};  ///< the setting that a search chose, "penalty 0.003"; empty: none did
};

/// What convergence is drawn over.
enum class PlotAxis {
  automatic,  ///< simulated seconds where all runs have them, otherwise rounds
  rounds,
  bytes,     ///< sent by all agents
  seconds,   ///< simulated where all runs have them, otherwise of the run without its measuring
  gradients  ///< of single samples, by all agents
};

/// Relative error where every run has a reference, stationarity otherwise. A series of several
/// runs is drawn as the median with a band between the quartiles over its seeds. A series in which
/// runs diverged ends in an open marker with their number.
Figure convergence_figure(const std::vector<RunSeries>& series, PlotAxis axis);

/// Every measured round of every run, one row each, with the names of the run record's trace.
std::string trace_csv(const std::vector<RunSeries>& series);

bool all_have_reference(const std::vector<RunSeries>& series);
bool all_have_simulated_time(const std::vector<RunSeries>& series);

}  // namespace grove
