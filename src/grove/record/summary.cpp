#include "grove/record/summary.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "grove/base/printable.h"
#include "grove/data/labels.h"

namespace grove {
namespace {

std::string labels_text(const ProblemSummary& problem) {
  std::string text;
  if (problem.loss.starts_with("huber:")) text += ", loss " + problem.loss;
  if (problem.columns)
    text += fmt::format(", target column `{}`", printable(problem.columns->label));
  if (problem.labels)
    text += fmt::format(", label {} is class 0 and {} is class 1",
                        printable(label_text(*problem.labels, false)),
                        printable(label_text(*problem.labels, true)));
  return text;
}

double slowest(const RunRecord& record) {
  return std::ranges::min(record.agents, {}, &AgentSummary::speed).speed.value_or(1);
}
double fastest(const RunRecord& record) {
  return std::ranges::max(record.agents, {}, &AgentSummary::speed).speed.value_or(1);
}

/// The range of local steps that was chosen for known machines, and the reason at the agent with
/// most of them.
std::string work_text(const RunRecord& record) {
  if (record.agents.empty() || !record.agents.front().speed) return "";
  const auto [least, most] = std::ranges::minmax(record.agents, {}, &AgentSummary::work);
  if (most.work_reason.empty()) return "";
  if (least.work == most.work)
    return fmt::format("  work        {} local {} per activation at every agent: {}\n", most.work,
                       most.work == 1 ? "step" : "steps", most.work_reason);
  return fmt::format("  work        {} to {} local steps per activation; {}: {}\n", least.work,
                     most.work, most.work, most.work_reason);
}

std::string objective_text(const RunRecord& record) {
  std::string text = fmt::format("  objective   {:.10g}", record.objective);
  if (const auto gap = record.trace.back().objective_gap)
    text += fmt::format(", which is {:.2e} above the centralized optimum", *gap);
  if (record.objective > record.trace.front().objective)
    text += fmt::format(", and worse than {:.10g} at the start", record.trace.front().objective);
  text += "\n";
  if (record.outcome.gap_bound)
    text += fmt::format("  certified   the optimum is at most {:.2e} of itself below\n",
                        *record.outcome.gap_bound);
  return text;
}

/// How near the run came to the optimum and the agents to each other.
std::string accuracy_text(const RunRecord& record) {
  const TracePoint &first = record.trace.front(), &last = record.trace.back();
  std::string text;
  if (record.reference && !record.reference->unique)
    text +=
        "  error       the optimum is not unique: the objective is flat in some directions, and "
        "its "
        "gap\n              says how good the model is\n";
  else if (last.relative_error)
    text += fmt::format("  error       {:.3e} of the squared distance to the optimum is left\n",
                        *last.relative_error);
  text += fmt::format(
      "  stationary  {:.3e} is the norm of the stationarity residual, {:.3e} at "
      "the start\n",
      last.stationarity, first.stationarity);
  return text + fmt::format(
                    "  consensus   {:.3e} is the distance of the agents' models from their "
                    "mean\n",
                    last.consensus_error);
}

std::string cost_text(const Cost& cost) {
  return fmt::format(
      "  cost        {} broadcasts, {} vectors ({}) sent over links, {} local linear solves\n",
      cost.broadcasts, cost.vectors_sent, human_bytes(static_cast<double>(cost.bytes_sent)),
      cost.solves);
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
  std::string text =
      fmt::format("{}, in {}\n", record.outcome.detail, human_seconds(record.outcome.seconds));
  text += fmt::format("  data        {} samples, {} features{}\n", record.problem.samples,
                      record.problem.features, labels_text(record.problem));
  text += fmt::format(
      "  network     {} agents, {} links; Laplacian eigenvalues lambda_2 {:.4g}, "
      "lambda_max {:.4g}\n",
      record.problem.agents, record.problem.edges, record.problem.lambda_2,
      record.problem.lambda_max);
  text += objective_text(record);
  text += fmt::format("  model       {} of {} coefficients are not zero\n", record.nonzeros,
                      record.problem.features);
  text += accuracy_text(record);
  text += cost_text(last.cost);
  if (last.simulated_seconds)
    text += fmt::format("  simulated   {} on machines of relative speed {:.3g} to {:.3g}\n",
                        human_seconds(*last.simulated_seconds), slowest(record), fastest(record));
  text += work_text(record);
  for (const std::string& why : record.explanations) text += fmt::format("  why         {}\n", why);
  return text;
}

}  // namespace grove
