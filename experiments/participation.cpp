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
      cell.config.rounds = round_limit(setting, share);
      if (load.tuned) cell.config.prox = TunedProx{};
      if (seed == 1)
        cell.record = file_name({setting.name, name_of(model), load.name, "p", exact(share)});
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

std::uint64_t round_limit(const Setting& setting, double participation) {
  return static_cast<std::uint64_t>(std::ceil(static_cast<double>(setting.rounds) / participation));
}

std::string CostFigure::title() const {
  return fmt::format("Figure {}: {}, {} local model", number, setting.title, name_of(model));
}

Figure CostFigure::draw() const {
  Figure figure{.title = title(),
                .x_label = "participation",
                .y_label = number == 2 ? "broadcasts per agent to relative error 0.01"
                                       : "global rounds to relative error 0.01",
                .log_y = false,
                .points = true,
                .from_zero = true,
                .curves = {}};
  Curve limit{.name = "limit of the runs: not reached by half of the seeds"};
  for (const double share : lines[0].participation) {
    const auto rounds = static_cast<double>(round_limit(setting, share));
    limit.x.push_back(share);
    limit.y.push_back(number == 2 ? rounds * share : rounds);
  }
  for (const CostLine& line : lines) {
    Curve curve{.name = line.name};
    curve.x = line.participation;
    for (std::size_t k = 0; k < curve.x.size(); ++k) {
      const Spread& spread = number == 2 ? line.broadcasts[k] : line.rounds[k];
      const double most = limit.y[k];
      curve.y.push_back(std::min(spread.median, most));
      curve.low.push_back(std::min(spread.low, most));
      curve.high.push_back(std::min(spread.high, most));
    }
    figure.curves.push_back(std::move(curve));
  }
  figure.curves.push_back(std::move(limit));
  return figure;
}

std::string CostFigure::csv() const {
  const auto cost = [](double value) { return std::isfinite(value) ? exact(value) : "never"; };
  std::string text =
      "line,participation,rounds,rounds_lower_quartile,rounds_upper_quartile,broadcasts,"
      "broadcasts_lower_quartile,broadcasts_upper_quartile,seeds_that_arrived\n";
  for (const CostLine& line : lines)
    for (std::size_t k = 0; k < line.participation.size(); ++k) {
      text += fmt::format("\"{}\",{}", line.name, exact(line.participation[k]));
      for (const Spread& spread : {line.rounds[k], line.broadcasts[k]})
        text += fmt::format(",{},{},{}", cost(spread.median), cost(spread.low), cost(spread.high));
      text += fmt::format(",{}\n", line.reached[k]);
    }
  return text;
}

}  // namespace grove::experiments
