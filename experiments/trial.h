#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "grove/train/run.h"

namespace grove::experiments {

/// When a run ends before its round limit.
struct StopRule {
  double reached = 0;  ///< stop when the relative error is at most this; 0: go on
  double lost = 1e6;   ///< stop when the relative error is above this: it will not come back
};

/// One run of an experiment. Everything that decides its result is in here.
struct Trial {
  Config config;
  /// Sets step to factor / L (gossip methods) or prox to factor * L (druid-gd), L being the largest
  /// smoothness constant of the problem's f_i.
  std::optional<double> smoothness_factor;
  StopRule stop;
  bool timed = false;  ///< its times are shown, so it must not share the machine with other trials
  std::string record;  ///< name under which the whole run record is kept as well; empty: it is not

  /// All settings as text: two trials with the same key give the same numbers (times apart).
  std::string key() const;
};

/// What is kept of a run, one entry per measured round.
struct TrialResult {
  RunStatus status = RunStatus::round_limit;
  bool lost = false;  ///< diverged, or left by StopRule::lost
  std::vector<double> round, error, broadcasts;
  std::vector<double> seconds;  ///< of work, or simulated on trials that have machines

  /// Position of the first entry with an error of at most `level`.
  std::optional<std::size_t> first_at(double level) const;
};

struct FinishedTrial {
  TrialResult result;
  RunRecord record;
};

/// Runs the trial on its problem. Nothing: interrupted.
Result<std::optional<FinishedTrial>> run_trial(const Trial& trial, const PreparedProblem& problem,
                                               const RunHooks& hooks);

/// Finished trials on disk, one small file each in trials/, written whole or not at all; whole run
/// records of some of them in records/.
class TrialStore {
 public:
  /// Makes the folders.
  static Result<TrialStore> open(const std::filesystem::path& folder);

  /// Nothing when the trial is not there; a damaged or foreign file counts as not there.
  std::optional<TrialResult> load(const Trial& trial) const;
  Status save(const Trial& trial, const FinishedTrial& finished) const;

 private:
  explicit TrialStore(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path path_of(const std::string& key) const;

  std::filesystem::path folder_;
};

}  // namespace grove::experiments
