#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "grove/train/run.h"

namespace grove::experiments {

/// When a run has shown what it was made to show.
struct StopRule {
  double reached = 0;  ///< stop when the relative error is at most this; 0: go on
  double lost = 1e6;   ///< stop when the relative error is above this: it will not come back
};

/// One run of an experiment. Everything that decides its result is in here.
struct Cell {
  Config config;
  /// Sets step to factor / L (gossip methods) or prox to factor * L (druid-gd), L being the largest
  /// smoothness constant of the problem's f_i.
  std::optional<double> smoothness_factor;
  StopRule stop;
  bool timed = false;  ///< its times are shown, so it must not share the machine with other cells
  std::string record;  ///< name under which the whole run record is kept as well; empty: it is not

  /// All settings as text: two cells with the same key give the same numbers (times apart).
  std::string key() const;
};

/// What is kept of a run, one entry per measured round.
struct CellResult {
  RunStatus status = RunStatus::round_limit;
  bool lost = false;  ///< diverged, or left by StopRule::lost
  std::vector<double> round, error, broadcasts;
  std::vector<double> seconds;  ///< of work, or simulated on cells that have machines

  /// Position of the first entry with an error of at most `level`.
  std::optional<std::size_t> first_at(double level) const;
};

struct FinishedCell {
  CellResult result;
  RunRecord record;
};

/// Runs the cell on its problem. Nothing: interrupted.
Result<std::optional<FinishedCell>> run_cell(const Cell& cell, const PreparedProblem& problem,
                                             const RunHooks& hooks);

/// Finished cells on disk, one small file each in cells/, written whole or not at all; whole run
/// records of some of them in records/.
class CellStore {
 public:
  /// Makes the folders.
  static Result<CellStore> open(const std::filesystem::path& folder);

  /// Nothing when the cell is not there; a damaged or foreign file counts as not there.
  std::optional<CellResult> load(const Cell& cell) const;
  Status save(const Cell& cell, const FinishedCell& finished) const;

 private:
  explicit CellStore(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path path_of(const std::string& key) const;

  std::filesystem::path folder_;
};

}  // namespace grove::experiments
