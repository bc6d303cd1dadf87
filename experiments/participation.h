#pragma once

#include "experiments/cell_runner.h"
#include "experiments/settings.h"
#include "experiments/statistics.h"

namespace grove::experiments {

/// A line of figures 2 and 3: a way to deal out work, with or without tuned eps.
struct WorkLoad {
  std::string name;
  std::string work;
  bool tuned = false;
};

std::vector<WorkLoad> figure2_loads();  ///< Equal, Uniform, Extreme
std::vector<WorkLoad> figure3_loads();  ///< Uniform with equal and with tuned eps

/// Cells by participation, then by seed.
std::vector<Cell> participation_cells(const Scale& scale, const Setting& setting,
                                      LocalModelKind model, const WorkLoad& load);

/// Cost to the goal against participation. Rounds, or broadcasts per agent.
struct CostLine {
  std::string name;
  std::vector<double> participation;
  std::vector<Spread> rounds, broadcasts;
  std::vector<std::uint64_t> reached;  ///< seeds that got there
};
CostLine cost_line(const WorkLoad& load, const Scale& scale, std::span<const CellResult> results);

/// Rounds after which a run that has not reached the goal ends.
std::uint64_t round_limit(const Setting& setting, double participation);

struct CostFigure {
  int number = 2;  ///< 2 shows broadcasts per agent, 3 rounds
  Setting setting;
  LocalModelKind model{};
  std::vector<CostLine> lines;

  std::string title() const;
  /// What is never reached is drawn on a line at the limit of the runs.
  Figure draw() const;
  std::string csv() const;
};

}  // namespace grove::experiments
