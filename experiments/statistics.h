#pragma once

#include <span>
#include <vector>

#include "experiments/cell.h"
#include "grove/record/plot.h"

namespace grove::experiments {

/// Quartiles over seeds. What was never reached counts as infinite, so that a median says "never"
/// when half of the seeds do.
struct Spread {
  double low = 0, median = 0, high = 0;
};
Spread spread_of(std::vector<double> values);

/// Relative error over rounds: median and quartiles over the seeds, up to `last_round`. A run that
/// was lost counts as infinite from there on, one that reached its goal keeps its last error.
Curve error_over_rounds(std::string name, std::span<const CellResult> seeds, double last_round);

/// The same over working seconds, at `points` moments in equal ratios, from the first round until
/// the first seed that was not lost has no more rounds to show.
Curve error_over_time(std::string name, std::span<const CellResult> seeds, std::size_t points);

/// Error of a run as known at that round: of the last measured one up to it; infinite once lost.
double error_at_round(const CellResult& run, double round);

/// Error of a run after that many seconds of work; infinite once it was lost, NaN after its end.
double error_at_time(const CellResult& run, double seconds);

/// Rounds (or broadcasts per agent) until the error was at most `level`; infinite: never.
double rounds_to(const CellResult& run, double level);
double broadcasts_to(const CellResult& run, double level, double agents);

}  // namespace grove::experiments
