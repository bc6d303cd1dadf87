#pragma once

#include <map>

#include "experiments/cell_runner.h"
#include "experiments/settings.h"
#include "experiments/statistics.h"

namespace grove::experiments {

/// A line of figure 1, and how its cells are made.
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

/// Cells of a contender, by seed. `factor` is for those that are searched.
std::vector<Cell> contender_cells(const Scale& scale, const Setting& setting, LocalModelKind model,
                                  const Contender& contender, std::optional<double> factor);

/// Cells that compare the factors of one contender: by factor, then by seed.
std::vector<Cell> search_cells(const Scale& scale, const Setting& setting,
                               const Contender& contender);

/// What the search found: median error at the last round for every factor, the least is chosen.
struct Search {
  std::string contender;
  std::vector<double> factors, errors;
  double best = 0;
};
Search judge(const Contender& contender, std::span<const CellResult> results, std::uint64_t seeds);

/// Results of one picture, by contender name, seeds in order.
struct Figure1 {
  std::string setting, title;
  LocalModelKind model{};
  double last_round = 0;
  std::vector<std::pair<std::string, std::vector<CellResult>>> lines;

  const std::vector<CellResult>& of(const std::string& contender) const;
  Figure over_rounds() const;
  Figure over_time() const;
};

/// Median over seeds of 1 - rounds_to(b) / rounds_to(a) at `level`; NaN when half of them never
/// get there.
double rounds_saved(std::span<const CellResult> a, std::span<const CellResult> b, double level);

/// Median over seeds of error(a) / error(b) at the moment when b reaches `level`; NaN when half of
/// the seeds have no such moment, or a had ended by then.
double error_ratio_at_equal_time(std::span<const CellResult> a, std::span<const CellResult> b,
                                 double level);

}  // namespace grove::experiments
