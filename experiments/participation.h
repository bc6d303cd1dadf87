#pragma once

#include "experiments/settings.h"
#include "experiments/statistics.h"
#include "experiments/trial_runner.h"

namespace grove::experiments {

/// A line of figures 2 and 3: a distribution of local steps, with or without tuned eps.
struct WorkLoad {
  std::string name;
  std::string work;
  bool tuned = false;
};

std::vector<WorkLoad> figure2_loads();  ///< Equal, Uniform, Extreme
std::vector<WorkLoad> figure3_loads();  ///< Uniform with equal and with tuned eps

/// Trials by participation, then by seed.
std::vector<Trial> participation_trials(const Scale& scale, const Setting& setting,
                                        LocalModelKind model, const WorkLoad& load);

/// Cost to the goal against participation. Rounds, or broadcasts per agent.
struct CostLine {
  std::string name;
  std::vector<double> participation;
  std::vector<Spread> rounds, broadcasts;
  std::vector<std::uint64_t> reached;  ///< seeds that reached the goal
};
CostLine cost_line(const WorkLoad& load, const Scale& scale, std::span<const TrialResult> results);

/// Rounds after which a run that has not reached the goal ends.
std::uint64_t round_limit(const Setting& setting, double participation);

struct CostFigure {
  int number = 2;  ///< 2 shows broadcasts per agent, 3 rounds
  Setting setting;
  LocalModelKind model{};
  std::uint64_t seeds = 0;  ///< runs behind every point
  std::vector<CostLine> lines;

  std::string title() const;
  double limit_at(double participation) const;  ///< the cost of a run that is ended by its limit
  /// Where half of the seeds or more do not reach the goal, an open marker at the limit of the runs
  /// carries the number of those that do; no line leads there.
  Figure draw() const;
  std::string csv() const;
};

}  // namespace grove::experiments
