#include "experiments/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace grove::experiments {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Linear interpolation between order statistics; an infinite neighbour makes it infinite.
double quantile(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const double rest = position - static_cast<double>(below);
  if (rest == 0) return sorted[below];
  if (std::isinf(sorted[below + 1])) return infinity;
  return sorted[below] + rest * (sorted[below + 1] - sorted[below]);
}

void add_point(Curve& curve, double x, const Spread& spread) {
  curve.x.push_back(x);
  curve.y.push_back(spread.median);
  curve.low.push_back(spread.low);
  curve.high.push_back(std::isfinite(spread.high) ? spread.high : spread.median);
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  for (double& value : values)
    if (std::isnan(value)) value = infinity;
  std::ranges::sort(values);
  return {quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)};
}

double error_at_round(const CellResult& run, double round) {
  const auto after = std::ranges::upper_bound(run.round, round);
  if (after == run.round.begin()) return infinity;
  if (after == run.round.end() && run.lost && round > run.round.back()) return infinity;
  return run.error[static_cast<std::size_t>(after - run.round.begin()) - 1];
}

Curve error_over_rounds(std::string name, std::span<const CellResult> seeds, double last_round) {
  Curve curve{.name = std::move(name)};
  const CellResult& longest =
      *std::ranges::max_element(seeds, {}, [](const CellResult& run) { return run.round.size(); });
  for (const double round : longest.round) {
    if (round > last_round) break;
    std::vector<double> errors;
    errors.reserve(seeds.size());
    for (const CellResult& run : seeds) errors.push_back(error_at_round(run, round));
    const Spread spread = spread_of(std::move(errors));
    if (!std::isfinite(spread.median)) break;
    add_point(curve, round, spread);
  }
  return curve;
}

double error_at_time(const CellResult& run, double seconds) {
  const auto after = std::ranges::upper_bound(run.seconds, seconds);
  if (after == run.seconds.end() && seconds > run.seconds.back())
    return run.lost ? infinity : std::nan("");
  return run.error[static_cast<std::size_t>(after - run.seconds.begin()) - 1];
}

Curve error_over_time(std::string name, std::span<const CellResult> seeds, std::size_t points) {
  Curve curve{.name = std::move(name)};
  std::vector<double> first;
  // Ends where the first seed that was not lost ends: a median over the others would jump.
  double end = infinity, last = 0;
  for (const CellResult& run : seeds) {
    first.push_back(run.seconds.size() > 1 ? run.seconds[1] : run.seconds.back());
    last = std::max(last, run.seconds.back());
    if (!run.lost) end = std::min(end, run.seconds.back());
  }
  end = std::min(end, last);
  const double begin = spread_of(first).median;
  if (!(begin > 0) || !(end > begin)) return curve;
  for (std::size_t k = 0; k < points; ++k) {
    const double seconds =
        begin * std::pow(end / begin, static_cast<double>(k) / static_cast<double>(points - 1));
    std::vector<double> errors;
    for (const CellResult& run : seeds) errors.push_back(error_at_time(run, seconds));
    const Spread spread = spread_of(std::move(errors));
    if (!std::isfinite(spread.median)) break;
    add_point(curve, seconds, spread);
  }
  return curve;
}

double rounds_to(const CellResult& run, double level) {
  const auto position = run.first_at(level);
  return position ? run.round[*position] : infinity;
}

double broadcasts_to(const CellResult& run, double level, double agents) {
  const auto position = run.first_at(level);
  return position ? run.broadcasts[*position] / agents : infinity;
}

}  // namespace grove::experiments
