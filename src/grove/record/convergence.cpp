#include "grove/record/convergence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "grove/base/text.h"
#include "grove/record/spread.h"

namespace grove {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

template <class Predicate>
bool all_runs(const std::vector<RunSeries>& series, Predicate predicate) {
  return std::ranges::all_of(
      series, [&](const RunSeries& one) { return std::ranges::all_of(one.runs, predicate); });
}

/// What a figure shows of a trace point.
struct Axes {
  PlotAxis x = PlotAxis::rounds;  ///< not automatic
  bool simulated = false;         ///< seconds are simulated ones
  bool reference = false;         ///< y is the relative error, not stationarity

  double x_of(const TracePoint& point) const {
    switch (x) {
      case PlotAxis::bytes:
        return static_cast<double>(point.cost.bytes_sent);
      case PlotAxis::gradients:
        return static_cast<double>(point.cost.gradient_samples);
      case PlotAxis::seconds:
        return simulated ? *point.simulated_seconds : point.seconds;
      case PlotAxis::automatic:
      case PlotAxis::rounds:
        break;
    }
    return static_cast<double>(point.round);
  }
  double y_of(const TracePoint& point) const {
    return reference ? point.relative_error.value_or(std::nan("")) : point.stationarity;
  }
};

Axes axes_of(const std::vector<RunSeries>& series, PlotAxis axis) {
  const bool simulated = all_have_simulated_time(series);
  if (axis == PlotAxis::automatic) axis = simulated ? PlotAxis::seconds : PlotAxis::rounds;
  return {axis, simulated, all_have_reference(series)};
}

/// One run as the figure sees it. A diverged run is drawn up to 1,000 times its start: its later
/// points would only stretch the axis.
struct Trail {
  std::vector<double> x, y;
  bool diverged = false;
  bool holds = false;  ///< converged: the last value is also that of later moments

  double end() const { return x.empty() ? 0 : x.back(); }
  /// The value as known at `at`: of the last point up to it.
  double value_at(double at) const {
    const auto after = std::ranges::upper_bound(x, at);
    if (after == x.begin() || (diverged && at > end())) return never;
    return y[static_cast<std::size_t>(after - x.begin()) - 1];
  }
};

Trail trail_of(const RunRecord& record, const Axes& axes) {
  constexpr double lost_ratio = 1000;
  Trail trail{.diverged = record.outcome.status == RunStatus::diverged,
              .holds = record.outcome.status == RunStatus::converged};
  for (const TracePoint& point : record.trace) {
    const double y = axes.y_of(point);
    if (trail.diverged && !trail.y.empty() && !(y <= lost_ratio * trail.y.front())) break;
    trail.x.push_back(axes.x_of(point));
    trail.y.push_back(y);
  }
  return trail;
}

/// Where the curve of several runs ends: with the first that neither converged nor diverged, as a
/// median over the others would jump.
double common_end(const std::vector<Trail>& trails) {
  double end = never, last = 0;
  for (const Trail& trail : trails) {
    last = std::max(last, trail.end());
    if (!trail.holds && !trail.diverged) end = std::min(end, trail.end());
  }
  return std::min(end, last);
}

/// The moments at which several runs are compared.
std::vector<double> grid_of(const std::vector<Trail>& trails, const Axes& axes, bool log_x) {
  constexpr int points = 160;
  const double end = common_end(trails);
  std::set<double> grid;
  double begin = never;  // the first moment after the start
  for (const Trail& trail : trails)
    for (const double x : trail.x) {
      if (axes.x == PlotAxis::rounds && x <= end) grid.insert(x);
      if (x > 0) begin = std::min(begin, x);
    }
  if (axes.x != PlotAxis::rounds && begin < end)
    for (int k = 0; k < points; ++k) {
      const double share = static_cast<double>(k) / (points - 1);
      grid.insert(log_x ? begin * std::pow(end / begin, share) : share * end);
    }
  return {grid.begin(), grid.end()};
}

Curve median_curve(const std::string& name, const std::vector<Trail>& trails,
                   const std::vector<double>& grid) {
  Curve curve{.name = name};
  for (const double x : grid) {
    std::vector<double> values;
    for (const Trail& trail : trails) values.push_back(trail.value_at(x));
    const Spread spread = spread_of(std::move(values));
    if (!std::isfinite(spread.median)) break;
    curve.x.push_back(x);
    curve.y.push_back(spread.median);
    curve.low.push_back(spread.low);
    curve.high.push_back(std::isfinite(spread.high) ? spread.high : spread.median);
  }
  return curve;
}

void mark_divergence(const std::vector<Trail>& trails, bool log_x, Curve& curve) {
  const auto diverged = std::ranges::count_if(trails, &Trail::diverged);
  if (diverged == 0) return;
  OpenMark mark{.x = log_x ? trails[0].end() : 0, .y = 1};
  if (!curve.x.empty()) mark = {.x = curve.x.back(), .y = curve.y.back(), .text = ""};
  mark.text = trails.size() == 1 ? "diverged" : fmt::format("{} of {}", diverged, trails.size());
  curve.marks.push_back(std::move(mark));
}

/// Methods may differ by orders of magnitude in what a round costs.
bool wants_log_x(const std::vector<std::vector<Trail>>& all, const Axes& axes) {
  constexpr double wide_ratio = 20;
  if (axes.x == PlotAxis::rounds) return false;
  double least = never, most = 0;
  for (const auto& trails : all)
    for (const Trail& trail : trails) {
      if (trail.end() > 0) least = std::min(least, trail.end());
      most = std::max(most, trail.end());
    }
  return most > wide_ratio * least;
}

struct Unit {
  double size = 1;
  const char* name = "";
};

/// The largest unit that is not above `most`.
Unit unit_for(double most, const std::vector<Unit>& units) {
  Unit chosen = units.front();
  for (const Unit& unit : units)
    if (unit.size <= most) chosen = unit;
  return chosen;
}

void label_x(const Axes& axes, double most, Figure& figure) {
  Unit unit;
  switch (axes.x) {
    case PlotAxis::bytes:
      unit = unit_for(most, {{1, "bytes"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}});
      figure.x_label = fmt::format("sent by all agents ({})", unit.name);
      break;
    case PlotAxis::gradients:
      unit = unit_for(most,
                      {{1, ""}, {1e3, " (thousands)"}, {1e6, " (millions)"}, {1e9, " (billions)"}});
      figure.x_label = fmt::format("gradients of single samples, all agents{}", unit.name);
      break;
    case PlotAxis::seconds:
      unit = unit_for(most, {{1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}});
      figure.x_label = fmt::format(
          "{} ({})", axes.simulated ? "simulated time" : "run time without measuring", unit.name);
      break;
    case PlotAxis::automatic:
    case PlotAxis::rounds:
      figure.x_label = "round";
      break;
  }
  figure.x_divisor = unit.size;
}

std::string y_label(const Axes& axes, const std::vector<RunSeries>& series) {
  std::size_t most = 1;
  for (const RunSeries& one : series) most = std::max(most, one.runs.size());
  const std::string measure = axes.reference ? "relative error  Σ|x_i − x*|² / Σ|x_i⁰ − x*|²"
                                             : "stationarity of the mean model";
  return most == 1 ? measure
                   : fmt::format("{}, median and quartiles of {} seeds",
                                 axes.reference ? "relative error" : "stationarity", most);
}

}  // namespace

bool all_have_reference(const std::vector<RunSeries>& series) {
  return all_runs(series, [](const RunRecord& run) { return run.reference.has_value(); });
}

bool all_have_simulated_time(const std::vector<RunSeries>& series) {
  return all_runs(series, [](const RunRecord& run) {
    return std::ranges::all_of(
        run.trace, [](const TracePoint& point) { return point.simulated_seconds.has_value(); });
  });
}

Figure convergence_figure(const std::vector<RunSeries>& series, PlotAxis axis) {
  const Axes axes = axes_of(series, axis);
  std::vector<std::vector<Trail>> all;
  double most = 0;
  for (const RunSeries& one : series) {
    all.emplace_back();
    for (const RunRecord& run : one.runs) all.back().push_back(trail_of(run, axes));
    for (const Trail& trail : all.back()) most = std::max(most, trail.end());
  }
  Figure figure{.title = "Convergence",
                .y_label = y_label(axes, series),
                .log_x = wants_log_x(all, axes),
                .mark_meaning = "open marker: seeds that diverged"};
  label_x(axes, most, figure);
  for (std::size_t k = 0; k < series.size(); ++k) {
    const auto& trails = all[k];
    Curve curve = trails.size() == 1
                      ? Curve{.name = series[k].name, .x = trails[0].x, .y = trails[0].y}
                      : median_curve(series[k].name, trails, grid_of(trails, axes, figure.log_x));
    mark_divergence(trails, figure.log_x, curve);
    figure.curves.push_back(std::move(curve));
  }
  return figure;
}

std::string trace_csv(const std::vector<RunSeries>& series) {
  const auto field = [](const std::optional<double>& value) { return value ? exact(*value) : ""; };
  std::string text =
      "name,seed,round,objective,objective_gap,relative_error,consensus_error,stationarity,active,"
      "broadcasts,vectors_sent,bytes_sent,gradient_samples,hessian_samples,solves,seconds,"
      "simulated_seconds\n";
  for (const RunSeries& one : series)
    for (const RunRecord& run : one.runs)
      for (const TracePoint& point : run.trace)
        text += fmt::format(
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_field(one.name),
            run.config.contains("seed") ? run.config.at("seed").dump() : "", point.round,
            exact(point.objective), field(point.objective_gap), field(point.relative_error),
            exact(point.consensus_error), exact(point.stationarity), point.active,
            point.cost.broadcasts, point.cost.vectors_sent, point.cost.bytes_sent,
            point.cost.gradient_samples, point.cost.hessian_samples, point.cost.solves,
            exact(point.seconds), field(point.simulated_seconds));
  return text;
}

}  // namespace grove
