#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "experiments/trial.h"

namespace grove::experiments {

/// How far the whole job is. Effort is a rough count of samples to be looked at.
struct Progress {
  std::size_t trials_done = 0, trials = 0;
  double effort_done = 0, effort = 0;
  double effort_run = 0;  ///< the part of effort_done that was worked now rather than read back
};

struct JobHooks {
  std::function<double()> seconds = [] { return 0.0; };  ///< processor time of the calling thread
  std::function<void(const Progress&)> progress = [](const Progress&) {};
  std::function<bool()> interrupted = [] { return false; };
};

/// Runs trials, skipping those that are in the store. Trials that are timed run one at a time; the
/// others share the machine's cores, one thread each.
class TrialRunner {
 public:
  /// `effort` is that of all trials that will be asked for, for the progress display.
  TrialRunner(TrialStore store, JobHooks hooks, std::size_t trials, double effort);

  /// Results in the order of the trials. Nothing: interrupted; what was finished is in the store.
  Result<std::optional<std::vector<TrialResult>>> run(const std::vector<Trial>& trials);

 private:
  struct Work;

  void work_on(Work& work);
  Result<std::shared_ptr<const PreparedProblem>> problem_of(const Config& config);
  void advance(const Trial& trial, bool worked);

  TrialStore store_;
  JobHooks hooks_;
  std::mutex mutex_;  ///< guards all below and the hooks
  Progress progress_;
  std::map<std::string, std::shared_ptr<const PreparedProblem>> problems_;
};

/// Samples that a trial may look at before it ends, in millions; only ratios matter.
double effort_of(const Trial& trial);

}  // namespace grove::experiments
