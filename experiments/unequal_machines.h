#pragma once

#include "experiments/settings.h"
#include "experiments/statistics.h"
#include "experiments/trial_runner.h"

namespace grove::experiments {

/// A line of the figure: the local steps of the agents, and whether they wait for each other.
struct WorkRule {
  std::string name;
  std::string work;  ///< as --work takes it; empty: ten steps times the speed, at least one
  bool free_running = false;
};
std::vector<WorkRule> work_rules();

/// DRUID-VL as the paper has it (larger penalty, linearized, whole shards), and as it is by
/// default.
enum class WorkMethod { paper, automatic };
std::string name_of(WorkMethod method);

/// Trials of a line, by seed.
std::vector<Trial> work_trials(const Scale& scale, WorkMethod method, const WorkRule& rule);

/// Simulated seconds until the error was at most `level`, over the seeds.
Spread seconds_to(std::span<const TrialResult> seeds, double level);

/// Error over simulated seconds, where half of the machines are ten times slower.
struct WorkFigure {
  WorkMethod method{};
  std::vector<std::pair<WorkRule, std::vector<TrialResult>>> lines;

  static constexpr double levels[] = {1e-2, 1e-4};
  std::string title() const;
  Figure draw() const;
};

}  // namespace grove::experiments
