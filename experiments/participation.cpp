#include "experiments/participation.h"

#include <algorithm>
#include <cmath>

#include "grove/base/text.h"

namespace grove::experiments {

std::vector<WorkLoad> figure2_loads() {
  return {{.name = "Equal (10)", .work = "equal:10"},
          {.name = "Uniform (1 to 19)", .work = "uniform:1:19"},
          {.name = "Extreme (1 or 19)", .work = "extreme:1:19"}};
}

std::vector<WorkLoad> figure3_loads() {
  return {{.name = "the same eps for all", .work = "uniform:1:19"},
          {.name = "tuned eps", .work = "uniform:1:19", .tuned = true}};
}

std::vector<Cell> participation_cells(const Scale& scale, const Setting& setting,
                                      LocalModelKind model, const WorkLoad& load) {
  std::vector<Cell> cells;
  for (const double share : participations(scale))
    for (std::uint64_t seed = 1; seed <= scale.seeds; ++seed) {
      Cell cell{.config = base_config(scale, setting, seed),
                .stop = {.reached = goal, .lost = 100}};
      cell.config.local_model = model;
      cell.config.work = load.work;
      cell.config.participation = exact(share);
      cell.config.rounds =
          static_cast<std::uint64_t>(std::ceil(static_cast<double>(setting.rounds) / share));
      if (load.tuned) cell.config.prox = TunedProx{};
      cells.push_back(std::move(cell));
    }
  return cells;
}

CostLine cost_line(const WorkLoad& load, const Scale& scale, std::span<const CellResult> results) {
  CostLine line{.name = load.name, .participation = participations(scale)};
  const double agents = static_cast<double>(Config{}.agents);
  for (std::size_t k = 0; k < line.participation.size(); ++k) {
    std::vector<double> rounds, broadcasts;
    for (const CellResult& run : results.subspan(k * scale.seeds, scale.seeds)) {
      rounds.push_back(rounds_to(run, goal));
      broadcasts.push_back(broadcasts_to(run, goal, agents));
    }
    line.reached.push_back(static_cast<std::uint64_t>(
        std::ranges::count_if(rounds, [](double value) { return std::isfinite(value); })));
    line.rounds.push_back(spread_of(std::move(rounds)));
    line.broadcasts.push_back(spread_of(std::move(broadcasts)));
  }
  return line;
}

bool CostFigure::anything_reached() const {
  return std::ranges::any_of(lines, [](const CostLine& line) {
    return std::ranges::any_of(line.rounds,
                               [](const Spread& spread) { return std::isfinite(spread.median); });
  });
}

Figure CostFigure::draw() const {
  Figure figure{
      .title = fmt::format("Figure {}: {}, {} local model", number, title, name_of(model)),
      .x_label = "participation",
      .y_label = number == 2 ? "broadcasts per agent to relative error 0.01"
                             : "global rounds to relative error 0.01",
      .log_y = false,
      .points = true,
      .from_zero = true,
      .curves = {}};
  for (const CostLine& line : lines) {
    Curve curve{.name = line.name};
    for (std::size_t k = 0; k < line.participation.size(); ++k) {
      const Spread& spread = number == 2 ? line.broadcasts[k] : line.rounds[k];
      if (!std::isfinite(spread.median)) continue;
      curve.x.push_back(line.participation[k]);
      curve.y.push_back(spread.median);
      curve.low.push_back(spread.low);
      curve.high.push_back(std::isfinite(spread.high) ? spread.high : spread.median);
    }
    if (curve.x.empty()) curve.name += ": never";
    figure.curves.push_back(std::move(curve));
  }
  return figure;
}

}  // namespace grove::experiments
