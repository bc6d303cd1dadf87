#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "experiments/cell.h"

namespace grove::experiments {

/// How far the whole job is. Effort is a rough count of samples to be looked at.
struct Progress {
  std::size_t cells_done = 0, cells = 0;
  double effort_done = 0, effort = 0;
  double effort_run = 0;  ///< the part of effort_done that was worked now rather than read back
};

struct JobHooks {
  std::function<double()> seconds = [] { return 0.0; };  ///< processor time of the calling thread
  std::function<void(const Progress&)> progress = [](const Progress&) {};
  std::function<bool()> interrupted = [] { return false; };
};

/// Runs cells, skipping those that are in the store. Cells that are timed run one at a time; the
/// others share the machine's cores, one thread each.
class CellRunner {
 public:
  /// `effort` is that of all cells that will be asked for, for the progress display.
  CellRunner(CellStore store, JobHooks hooks, std::size_t cells, double effort);

  /// Results in the order of the cells. Nothing: interrupted; what was finished is in the store.
  Result<std::optional<std::vector<CellResult>>> run(const std::vector<Cell>& cells);

 private:
  struct Work;

  void work_on(Work& work);
  Result<std::shared_ptr<const PreparedProblem>> problem_of(const Config& config);
  void advance(const Cell& cell, bool worked);

  CellStore store_;
  JobHooks hooks_;
  std::mutex mutex_;  ///< guards all below and the hooks
  Progress progress_;
  std::map<std::string, std::shared_ptr<const PreparedProblem>> problems_;
};

/// Samples that a cell may look at before it ends, in millions; only ratios matter.
double effort_of(const Cell& cell);

}  // namespace grove::experiments
