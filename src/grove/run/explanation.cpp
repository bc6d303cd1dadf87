#include "grove/run/explanation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>

namespace grove {
namespace {

constexpr std::size_t fewest_points = 12;  ///< of a trace from which a rate can be read
constexpr double standstill = 0.8;         ///< a third of the run that gains less has stalled
constexpr double rounding = 1e-12;         ///< relative errors near this are as small as they get
constexpr double sparse_graph = 0.05;  ///< lambda_2 / lambda_max below this: news travels slowly
constexpr double much_rest = 0.5;      ///< of an agent's rounds

/// What is left of the two measures that end a run, each relative to its own scale.
struct Left {
  double stationarity = 0;
  double consensus = 0;
  double larger() const { return std::max(stationarity, consensus); }
};

Left left_at(const TracePoint& point, const RunRecord& record) {
  const double start = record.trace.front().stationarity, norm = record.solution.norm();
  return {start > 0 ? point.stationarity / start : 0, norm > 0 ? point.consensus_error / norm : 0};
}

/// The least that was left anywhere in a part of the trace: noise does not hide it.
double least_left(std::span<const TracePoint> part, const RunRecord& record) {
  double least = std::numeric_limits<double>::infinity();
  for (const TracePoint& point : part) least = std::min(least, left_at(point, record).larger());
  return least;
}

std::string stalled(const Config& config, double left) {
  const std::string fact = fmt::format("the error stands still at {:.1e} of its scale", left);
  if (config.sampling == SamplingKind::minibatch && config.method == Method::druid_vl)
    return fact +
           ": the noise floor of fixed mini-batches; use larger --batch-gradient and "
           "--batch-hessian, or --sampling adaptive, variance-reduced or full";
  if (config.local_model == LocalModelKind::linearized)
    return fact + ": the linearized local model oscillates; use --local-model augmented";
  return "";
}

double mean_participation(const RunRecord& record) {
  double sum = 0;
  for (const AgentSummary& agent : record.agents) sum += agent.participation;
  return sum / static_cast<double>(record.agents.size());
}

/// What the settings themselves make slow.
std::string hindrance(const Config& config, const RunRecord& record) {
  if (mean_participation(record) < 1 - much_rest)
    return "agents rest most of the time; more --rounds, or a larger --participation";
  if (config.loss_rate >= 0.5)
    return fmt::format("{:.0f} % of the messages are lost", 100 * config.loss_rate);
  if (config.delay >= 5) return fmt::format("messages are up to {} rounds late", config.delay);
  return "";
}

/// What holds the slower of the two measures back.
std::string cause(const Config& config, const RunRecord& record, const Left& left) {
  if (std::string outside = hindrance(config, record); !outside.empty()) return outside;
  const bool number = is_druid(config.method) && !config.penalty.curvature();
  const char* or_auto = bears_curvature(config) ? ", or auto" : "";
  if (left.consensus <= left.stationarity) {
    if (number)
      return fmt::format(
          "agents agree more closely than they have moved: the links are stiff; use a smaller "
          "--penalty{}",
          or_auto);
    return "agents agree more closely than they have moved: the problem is badly conditioned for "
           "its regularization; more --l2 or scaled features help";
  }
  const ProblemSummary& problem = record.problem;
  if (problem.lambda_2 < sparse_graph * problem.lambda_max)
    return fmt::format(
        "agents do not agree yet: news travels slowly through this graph (lambda_2 {:.2g}, "
        "lambda_max {:.2g}); more links help",
        problem.lambda_2, problem.lambda_max);
  if (number)
    return fmt::format("agents do not agree yet: the links are soft; use a larger --penalty{}",
                       or_auto);
  if (config.partition != "even" && config.partition != "stride")
    return "agents do not agree yet: their shards differ much; evenly dealt samples help";
  return "agents do not agree yet: this takes more --rounds, or a graph with more links";
}

std::string resting(const RunRecord& record) {
  const double mean = mean_participation(record);
  return mean < 1 ? fmt::format(" Agents rested in {:.3g} % of the rounds.", 100 * (1 - mean)) : "";
}

constexpr double silent = 0.1;              ///< of what the median agent has said
constexpr std::uint64_t fewest_words = 20;  ///< of the median agent, before anybody is blamed
constexpr std::size_t most_named = 5;

std::uint64_t median_of(std::span<const std::uint64_t> values) {
  std::vector<std::uint64_t> sorted(values.begin(), values.end());
  std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2));
  return sorted[sorted.size() / 2];
}

std::string named(std::span<const AgentId> agents) {
  std::string text;
  for (std::size_t k = 0; k < std::min(agents.size(), most_named); ++k)
    text += fmt::format("{}{}", k == 0 ? "" : ", ", agents[k].value);
  return text + (agents.size() > most_named ? ", ..." : "");
}

}  // namespace

std::string explain_silence(const RunRecord& record, const Graph& graph,
                            std::span<const std::uint64_t> spoken) {
  if (record.outcome.status != RunStatus::round_limit || spoken.empty()) return "";
  const std::uint64_t usual = median_of(spoken);
  if (usual < fewest_words) return "";
  std::vector<AgentId> quiet;
  for (std::uint32_t i = 0; i < spoken.size(); ++i)
    if (static_cast<double>(spoken[i]) < silent * static_cast<double>(usual))
      quiet.push_back(AgentId{i});
  if (quiet.empty()) return "";
  const AgentId first = quiet.front();
  return fmt::format(
      "hardly heard: {} {}. Agent {} spoke {} times while others spoke {} times; "
      "waiting for it: {}.",
      quiet.size() == 1 ? "agent" : "agents", named(quiet), first.value, spoken[first.value], usual,
      named(graph.neighbours(first)));
}

std::string explain_events(const RunRecord& record) {
  if (record.events.empty()) return "";
  std::vector<AgentId> agents;
  for (const RunEvent& event : record.events)
    if (std::ranges::find(agents, AgentId{event.agent}) == agents.end())
      agents.push_back(AgentId{event.agent});
  return fmt::format(
      "{} {} weighed links more heavily on the way, {} times in all: the network is "
      "narrow there, or its shards differ (events in the record).",
      agents.size() == 1 ? "agent" : "agents", named(agents), record.events.size());
}

std::string explain_slowness(const Config& config, const RunRecord& record) {
  const std::span<const TracePoint> trace(record.trace);
  if (record.outcome.status != RunStatus::round_limit || !(config.tolerance > 0) ||
      trace.size() < fewest_points)
    return "";
  const std::size_t third = trace.size() / 3;
  const double before = least_left(trace.subspan(third, third), record);
  const double now = least_left(trace.last(third), record);
  if (!std::isfinite(now) || !(before > 0) || now <= config.tolerance) return "";
  if (now < rounding)
    return fmt::format(
        "not converged: only rounding is left ({:.1e} of its scale); a larger --tolerance ends the "
        "run earlier.",
        now);
  if (now > standstill * before) {
    const std::string reason = stalled(config, now);
    if (!reason.empty()) return "not converged: " + reason + "." + resting(record);
  }
  const double gained = std::log(before / now);
  const auto in_rounds = static_cast<double>(trace.back().round - trace[2 * third - 1].round);
  std::string outlook;
  if (gained > 0)
    outlook = fmt::format(" At this pace about {:.0f} more rounds are needed.",
                          std::ceil(std::log(now / config.tolerance) / gained * in_rounds));
  return "not converged: " + cause(config, record, left_at(trace.back(), record)) + "." + outlook +
         resting(record);
}

}  // namespace grove
