#pragma once

#include <span>
#include <vector>

#include "experiments/trial.h"
#include "grove/record/plot.h"
#include "grove/record/spread.h"

namespace grove::experiments {

/// Of the open markers in figures of errors.
inline constexpr const char* diverged_meaning = "open marker: seeds that diverged";

/// Relative error over rounds: median and quartiles over the seeds, up to `last_round`. A run that
/// was lost counts as infinite from there on; a run that reached its goal keeps its last error. A
/// curve that loses seeds ends in an open marker with their number.
Curve error_over_rounds(std::string name, std::span<const TrialResult> seeds, double last_round);

/// The same over working seconds, at `points` moments in equal ratios, from the first round until
/// the first seed that was not lost has no more rounds to show.
Curve error_over_time(std::string name, std::span<const TrialResult> seeds, std::size_t points);

/// Error of a run as known at that round: of the last measured one up to it; infinite once lost.
double error_at_round(const TrialResult& run, double round);

/// Error of a run after that many seconds of work; infinite once it was lost, NaN after its end.
double error_at_time(const TrialResult& run, double seconds);

/// Rounds (or broadcasts per agent) until the error was at most `level`; infinite: never.
double rounds_to(const TrialResult& run, double level);
double broadcasts_to(const TrialResult& run, double level, double agents);

}  // namespace grove::experiments
