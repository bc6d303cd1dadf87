#include "experiments/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace grove::experiments {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

void add_point(Curve& curve, double x, const Spread& spread) {
  curve.x.push_back(x);
  curve.y.push_back(spread.median);
  curve.low.push_back(spread.low);
  curve.high.push_back(std::isfinite(spread.high) ? spread.high : spread.median);
}

/// The last drawn point of a curve carries the number of seeds that were lost on the way.
void mark_lost_seeds(std::span<const TrialResult> seeds, double first_x, Curve& curve) {
  const auto lost = std::ranges::count_if(seeds, &TrialResult::lost);
  if (lost == 0) return;
  const std::string text = fmt::format("{} of {}", lost, seeds.size());
  if (curve.x.empty())
    curve.marks.push_back({first_x, 1, text});  // the start
  else
    curve.marks.push_back({curve.x.back(), curve.y.back(), text});
}

}  // namespace

double error_at_round(const TrialResult& run, double round) {
  const auto after = std::ranges::upper_bound(run.round, round);
  if (after == run.round.begin()) return infinity;
  if (after == run.round.end() && run.lost && round > run.round.back()) return infinity;
  return run.error[static_cast<std::size_t>(after - run.round.begin()) - 1];
}

Curve error_over_rounds(std::string name, std::span<const TrialResult> seeds, double last_round) {
  Curve curve{.name = std::move(name)};
  const TrialResult& longest =
      *std::ranges::max_element(seeds, {}, [](const TrialResult& run) { return run.round.size(); });
  for (const double round : longest.round) {
    if (round > last_round) break;
    std::vector<double> errors;
    errors.reserve(seeds.size());
    for (const TrialResult& run : seeds) errors.push_back(error_at_round(run, round));
    const Spread spread = spread_of(std::move(errors));
    if (!std::isfinite(spread.median)) break;
    add_point(curve, round, spread);
  }
  mark_lost_seeds(seeds, 0, curve);
  return curve;
}

double error_at_time(const TrialResult& run, double seconds) {
  const auto after = std::ranges::upper_bound(run.seconds, seconds);
  if (after == run.seconds.end() && seconds > run.seconds.back())
    return run.lost ? infinity : std::nan("");
  return run.error[static_cast<std::size_t>(after - run.seconds.begin()) - 1];
}

Curve error_over_time(std::string name, std::span<const TrialResult> seeds, std::size_t points) {
  Curve curve{.name = std::move(name)};
  std::vector<double> first;
  // Ends where the first seed that was not lost ends: a median over the others would jump.
  double end = infinity, last = 0;
  for (const TrialResult& run : seeds) {
    first.push_back(run.seconds.size() > 1 ? run.seconds[1] : run.seconds.back());
    last = std::max(last, run.seconds.back());
    if (!run.lost) end = std::min(end, run.seconds.back());
  }
  end = std::min(end, last);
  const double begin = spread_of(first).median;
  if (!(begin > 0) || !(end > begin)) {
    mark_lost_seeds(seeds, begin, curve);
    return curve;
  }
  for (std::size_t k = 0; k < points; ++k) {
    const double seconds =
        begin * std::pow(end / begin, static_cast<double>(k) / static_cast<double>(points - 1));
    std::vector<double> errors;
    for (const TrialResult& run : seeds) errors.push_back(error_at_time(run, seconds));
    const Spread spread = spread_of(std::move(errors));
    if (!std::isfinite(spread.median)) break;
    add_point(curve, seconds, spread);
  }
  mark_lost_seeds(seeds, begin, curve);
  return curve;
}

double rounds_to(const TrialResult& run, double level) {
  const auto position = run.first_at(level);
  return position ? run.round[*position] : infinity;
}

double broadcasts_to(const TrialResult& run, double level, double agents) {
  const auto position = run.first_at(level);
  return position ? run.broadcasts[*position] / agents : infinity;
}

}  // namespace grove::experiments
