#include "grove/record/summary.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "grove/base/text.h"
#include "grove/data/labels.h"

namespace grove {
namespace {

std::string or_dash(const std::optional<double>& value) {
  return value ? fmt::format("{:.3e}", *value) : "-";
}

std::string labels_text(const ProblemSummary& problem) {
  std::string text;
  if (problem.columns) text += fmt::format(", target column `{}`", problem.columns->label);
  if (problem.labels)
    text += fmt::format(", label {} is class 0 and {} is class 1",
                        label_text(*problem.labels, false), label_text(*problem.labels, true));
  return text;
}

std::string rounds_text(const RunRecord& record, double level) {
  const auto rounds = rounds_to(record, level);
  return rounds ? std::to_string(*rounds) : "-";
}

double slowest(const RunRecord& record) {
  return std::ranges::min(record.agents, {}, &AgentSummary::speed).speed.value_or(1);
}
double fastest(const RunRecord& record) {
  return std::ranges::max(record.agents, {}, &AgentSummary::speed).speed.value_or(1);
}

/// Of work that was chosen for known machines: its range, and why the busiest agent does so much.
std::string work_text(const RunRecord& record) {
  if (record.agents.empty() || !record.agents.front().speed) return "";
  const auto [least, most] = std::ranges::minmax(record.agents, {}, &AgentSummary::work);
  if (most.work_reason.empty()) return "";
  if (least.work == most.work)
    return fmt::format("  work        {} local {} everywhere: {}\n", most.work,
                       most.work == 1 ? "step" : "steps", most.work_reason);
  return fmt::format("  work        {} to {} local steps; {}: {}\n", least.work, most.work,
                     most.work, most.work_reason);
}

bool all_have_reference(const std::vector<std::pair<std::string, RunRecord>>& runs) {
  return std::ranges::all_of(runs,
                             [](const auto& run) { return run.second.reference.has_value(); });
}

/// Rounds of different machines and runtimes are not comparable; their seconds are.
bool all_have_simulated_time(const std::vector<std::pair<std::string, RunRecord>>& runs) {
  return std::ranges::all_of(runs, [](const auto& run) {
    return std::ranges::all_of(run.second.trace, [](const TracePoint& point) {
      return point.simulated_seconds.has_value();
    });
  });
}

}  // namespace

std::string human_bytes(double bytes) {
  constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB"};
  int unit = 0;
  for (; bytes >= 1000 && unit < 4; ++unit) bytes /= 1000;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.3g} {}", bytes, units[unit]);
}

std::string human_seconds(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 120) return fmt::format("{:.3g} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::round(seconds));
  return fmt::format("{} min {:02} s", whole / 60, whole % 60);
}

std::string summary_text(const RunRecord& record) {
  const TracePoint& last = record.trace.back();
  const TracePoint& first = record.trace.front();
  std::string text;
  text += fmt::format("{}, {}\n", record.outcome.detail, human_seconds(record.outcome.seconds));
  text += fmt::format("  data        {} samples, {} features{}\n", record.problem.samples,
                      record.problem.features, labels_text(record.problem));
  text += fmt::format("  network     {} agents, {} links, lambda_2 {:.4g}, lambda_max {:.4g}\n",
                      record.problem.agents, record.problem.edges, record.problem.lambda_2,
                      record.problem.lambda_max);
  text += fmt::format("  objective   {:.10g}{}\n", record.objective,
                      last.objective_gap ? fmt::format(", {:.2e} above the centralized optimum",
                                                       *last.objective_gap)
                                         : "");
  text += fmt::format("  model       {} of {} coefficients are not zero\n", record.nonzeros,
                      record.problem.features);
  if (last.relative_error)
    text += fmt::format("  error       {:.3e} of the squared distance to the optimum is left\n",
                        *last.relative_error);
  text += fmt::format("  stationary  {:.3e}, started at {:.3e}\n", last.stationarity,
                      first.stationarity);
  text += fmt::format("  consensus   {:.3e} from the agents' mean\n", last.consensus_error);
  text += fmt::format("  spent       {} broadcasts, {} vectors ({}) on links, {} local solves\n",
                      last.cost.broadcasts, last.cost.vectors_sent,
                      human_bytes(static_cast<double>(last.cost.bytes_sent)), last.cost.solves);
  if (last.simulated_seconds)
    text += fmt::format("  simulated   {} on machines of speed {:.3g} to {:.3g}\n",
                        human_seconds(*last.simulated_seconds), slowest(record), fastest(record));
  text += work_text(record);
  for (const std::string& why : record.explanations) text += fmt::format("  why         {}\n", why);
  return text;
}

std::string comparison_table(const std::vector<std::pair<std::string, RunRecord>>& runs) {
  const bool reference = all_have_reference(runs), simulated = all_have_simulated_time(runs);
  std::string text =
      fmt::format("{:<14} {:<12} {:>7} {:>17} {:>10} {:>10} {:>8} {:>8} {:>10} {:>10}{}\n",
                  "method", "outcome", "rounds", "objective", "gap", "rel.error", "to 1e-2",
                  "to 1e-4", "sent", "work time", simulated ? "  simulated" : "");
  std::string reasons;
  for (const auto& [name, record] : runs) {
    const TracePoint& last = record.trace.back();
    text += fmt::format(
        "{:<14} {:<12} {:>7} {:>17.10g} {:>10} {:>10} {:>8} {:>8} {:>10} {:>10}", name,
        name_of(record.outcome.status), record.outcome.rounds, record.objective,
        or_dash(last.objective_gap), or_dash(last.relative_error),
        reference ? rounds_text(record, 1e-2) : "-", reference ? rounds_text(record, 1e-4) : "-",
        human_bytes(static_cast<double>(last.cost.bytes_sent)), human_seconds(last.seconds));
    text += simulated ? fmt::format(" {:>10}\n", human_seconds(*last.simulated_seconds)) : "\n";
    for (const std::string& why : record.explanations)
      reasons += fmt::format("{:<14} {}\n", name, why);
  }
  return text + (reasons.empty() ? "" : "why\n") + reasons;
}

Figure convergence_figure(const std::vector<std::pair<std::string, RunRecord>>& runs) {
  const bool reference = all_have_reference(runs), simulated = all_have_simulated_time(runs);
  Figure figure{.title = "Convergence",
                .x_label = simulated ? "simulated seconds" : "round",
                .y_label = reference ? "relative error  sum |x_i - x*|^2 / sum |x_i^0 - x*|^2"
                                     : "stationarity of the mean"};
  for (const auto& [name, record] : runs) {
    Curve curve{.name = name};
    for (const TracePoint& point : record.trace) {
      curve.x.push_back(simulated ? *point.simulated_seconds : static_cast<double>(point.round));
      curve.y.push_back(reference ? *point.relative_error : point.stationarity);
    }
    figure.curves.push_back(std::move(curve));
  }
  return figure;
}

}  // namespace grove
