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

std::vector<Trial> participation_trials(const Scale& scale, const Setting& setting,
                                        LocalModelKind model, const WorkLoad& load) {
  std::vector<Trial> trials;
  for (const double share : participations(scale))
    for (std::uint64_t seed = 1; seed <= scale.seeds; ++seed) {
      Trial trial{.config = base_config(scale, setting, seed),
                  .stop = {.reached = goal, .lost = 100}};
      trial.config.local_model = model;
      trial.config.work = load.work;
      trial.config.participation = exact(share);
      trial.config.rounds = round_limit(setting, share);
      if (load.tuned) trial.config.prox = TunedProx{};
      if (seed == 1)
        trial.record = file_name({setting.name, name_of(model), load.name, "p", exact(share)});
      trials.push_back(std::move(trial));
    }
  return trials;
}

CostLine cost_line(const WorkLoad& load, const Scale& scale, std::span<const TrialResult> results) {
  CostLine line{.name = load.name, .participation = participations(scale)};
  const double agents = static_cast<double>(Config{}.agents);
  for (std::size_t k = 0; k < line.participation.size(); ++k) {
    std::vector<double> rounds, broadcasts;
    for (const TrialResult& run : results.subspan(k * scale.seeds, scale.seeds)) {
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
                .mark_meaning = "open marker, at the round limit: seeds that reached the goal",
                .curves = {}};
  for (const CostLine& line : lines) {
    Curve curve{.name = line.name};
    for (std::size_t k = 0; k < line.participation.size(); ++k) {
      const double share = line.participation[k];
      const Spread& spread = number == 2 ? line.broadcasts[k] : line.rounds[k];
      const bool reached = std::isfinite(spread.median);
      curve.x.push_back(share);
      curve.y.push_back(reached ? spread.median : std::nan(""));  // a gap, no line to the marker
      curve.low.push_back(spread.low);
      curve.high.push_back(std::min(spread.high, limit_at(share)));
      if (!reached)
        curve.marks.push_back(
            {share, limit_at(share), fmt::format("{} of {}", line.reached[k], seeds)});
    }
    figure.curves.push_back(std::move(curve));
  }
  return figure;
}

double CostFigure::limit_at(double participation) const {
  const auto rounds = static_cast<double>(round_limit(setting, participation));
  return number == 2 ? rounds * participation : rounds;
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
