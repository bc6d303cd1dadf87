#pragma once

#include <string>
#include <vector>

#include "grove/train/run.h"

namespace grove::app {

/// One value of the searched option, and what a run with it gave.
struct TuningTrial {
  std::string value;  ///< as the option takes it
  RunStatus status{};
  Round rounds = 0;
  double error = 0;  ///< the last relative error; stationarity without a reference
};

/// The search of compare --tune for one method. Every method gets the same number of trials.
struct Tuning {
  static constexpr std::size_t trials_per_method = 7;

  std::string option;  ///< penalty, prox or step: the one that decides the method's speed
  std::vector<TuningTrial> trials;
  std::size_t best = 0;

  std::string chosen() const { return option + " " + trials[best].value; }
};

/// Runs the method of `config` with its option as given and with six other values in equal ratios,
/// and sets `config` to the best: the value that converges in the fewest rounds; where none
/// converges, the value with the least error at the end. Collective in a cluster. Nothing:
/// interrupted.
Result<std::optional<Tuning>> tune(Config& config, const PreparedProblem& problem,
                                   const RunHooks& hooks, Cluster* cluster);

/// The grid and the result of every trial, in one line.
std::string tuning_text(const Tuning& tuning);
nlohmann::json to_json(const Tuning& tuning);

}  // namespace grove::app
