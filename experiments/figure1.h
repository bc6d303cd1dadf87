#pragma once

#include <map>

#include "experiments/settings.h"
#include "experiments/statistics.h"
#include "experiments/trial_runner.h"

namespace grove::experiments {

/// A line of figure 1, and how its trials are made.
struct Contender {
  std::string name;
  Method method = Method::druid_vl;
  int work = 1;
  bool whole_shards = false;  ///< druid-vl without sub-sampling
  bool searched = false;      ///< its step or eps is the best of factors()
};

/// DRUID-VL with E = 10 and 20, the same with whole shards, and the paper's five baselines.
std::vector<Contender> contenders();

/// Steps a = factor / L of PG-EXTRA and P2D2; eps = factor * L of DRUID-GD.
std::vector<double> factors(Method method);

/// Trials of a contender, by seed. `factor` is for those that are searched.
std::vector<Trial> contender_trials(const Scale& scale, const Setting& setting,
                                    LocalModelKind model, const Contender& contender,
                                    std::optional<double> factor);

/// Trials that compare the factors of one contender: by factor, then by seed.
std::vector<Trial> search_trials(const Scale& scale, const Setting& setting,
                                 const Contender& contender);

/// Rounds that a searched contender runs, in search and picture alike.
std::uint64_t searched_rounds(const Scale& scale);

/// What the search found, looking at the first `rounds` rounds. Best is the factor that is the
/// first to reach an error that counts as solved, or else has the least error after those rounds.
struct Search {
  static constexpr double solved_error = 1e-10;

  std::string contender;
  std::uint64_t rounds = 0;
  std::vector<double> factors;
  std::vector<double> errors;  ///< medians after `rounds` rounds
  std::vector<double> solved;  ///< median rounds to solved_error; infinite: not within `rounds`
  double best = 0;
};
Search pick_best(const Contender& contender, std::span<const TrialResult> results,
                 std::uint64_t seeds, std::uint64_t rounds);

/// One contender in both parts of the figure, seeds in order. What is best over many cheap rounds
/// need not be best over the few that part a shows: a searched contender has its best in each.
struct Line {
  std::string name;
  std::vector<TrialResult> over_rounds, over_time;
};

/// Results of one picture.
struct Figure1 {
  std::string setting, title;
  LocalModelKind model{};
  double last_round = 0;
  std::vector<Line> lines;

  const std::vector<TrialResult>& of(const std::string& contender) const;  ///< over time
  Figure over_rounds() const;
  Figure over_time() const;
};

/// Median over seeds of 1 - rounds_to(b) / rounds_to(a) at `level`; NaN when in half of them a or b
/// never gets there.
double rounds_saved(std::span<const TrialResult> a, std::span<const TrialResult> b, double level);

/// Median over seeds of error(a) / error(b) at the moment when b reaches `level`; NaN when half of
/// the seeds have no such moment, or a had ended by then.
double error_ratio_at_equal_time(std::span<const TrialResult> a, std::span<const TrialResult> b,
                                 double level);

}  // namespace grove::experiments
