#include "grove/train/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "grove/setup/method_setup.h"

namespace grove {
namespace {

constexpr std::size_t fewest_points = 12;  ///< of a trace from which a rate can be read
constexpr Round unremarkable = 100;        ///< a run that converged within so many was not slow
constexpr double standstill = 0.8;         ///< a third of the run that gains less has stalled
constexpr double rounding = 1e-12;         ///< relative errors near this are as small as they get
constexpr double slow_graph = 0.1;         ///< lambda_2 over the mean degree: news travels slowly
constexpr double much_rest = 0.5;          ///< of an agent's rounds
constexpr double farthest_outlook = 100;   ///< forecasts beyond, in rounds done, mean nothing
constexpr double heavy_prox = 4;           ///< eps_i over what the links of an agent weigh

bool ended_early(const RunRecord& record) {
  return record.outcome.status == RunStatus::round_limit ||
         record.outcome.status == RunStatus::interrupted;
}

bool was_slow(const RunRecord& record) {
  return ended_early(record) ||
         (record.outcome.status == RunStatus::converged && record.outcome.rounds > unremarkable);
}

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

/// The last third of a trace, without the start.
std::span<const TracePoint> ending(const RunRecord& record) {
  return std::span(record.trace).last(std::max<std::size_t>(1, record.trace.size() / 3));
}

/// Whether agents are farther from each other than from being done, by that factor, most of the
/// time at the end.
bool disagree(const RunRecord& record, double factor) {
  const auto points = ending(record);
  const auto apart = std::ranges::count_if(points, [&](const TracePoint& point) {
    const Left left = left_at(point, record);
    return left.consensus > factor * left.stationarity;
  });
  return 2 * static_cast<std::size_t>(apart) > points.size();
}

std::string stalled(const Config& config, double left) {
  const std::string fact = fmt::format("the error stands still at {:.1e} of its scale", left);
  if (config.sampling == SamplingKind::minibatch && config.method.traits().samples_batches)
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

bool is_slow(const ProblemSummary& problem) {
  const double degree =
      2 * static_cast<double>(problem.edges) / static_cast<double>(problem.agents);
  return problem.lambda_2 < slow_graph * degree;
}

/// How much larger eps_i is than what links of one number weigh, at the agent where it is largest.
double prox_over_links(const Config& config, const RunRecord& record) {
  double largest = 0;
  for (const AgentSummary& agent : record.agents)
    if (agent.prox && agent.degree > 0)
      largest =
          std::max(largest, *agent.prox / (config.penalty * static_cast<double>(agent.degree)));
  return largest;
}

/// Whether --penalty auto is something else than the number that ran.
bool auto_would_publish(const Config& config, const RunRecord& record) {
  const auto dimension = static_cast<Index>(record.problem.features) + (config.intercept ? 1 : 0);
  return automatic_weight_form(config, dimension).has_value();
}

std::string why_far(const Config& config, const RunRecord& record) {
  const std::string fact = "agents agree sooner than they arrive: ";
  const bool gradient_steps = config.method.traits().only_uses_gradients;
  const bool number = is_druid(config.method) && !config.penalty.published_form();
  if (number && prox_over_links(config, record) > heavy_prox && !gradient_steps)
    return fact + "the proximal weight outweighs the links; use a smaller --prox";
  if (gradient_steps && !(number && prox_over_links(config, record) < 1))
    return fact +
           "gradient steps gain little on a badly conditioned problem; use --method druid-vl, or "
           "scaled features";
  const char* or_auto = auto_would_publish(config, record) ? ", or auto" : "";
  // Iterates outside a constraint that their copy keeps look far, however soft the links are.
  if (number && (std::isfinite(config.constraint.low) || std::isfinite(config.constraint.high)))
    return fmt::format("{}use a larger or a smaller --penalty{}", fact, or_auto);
  if (number) return fmt::format("{}the links are stiff; use a smaller --penalty{}", fact, or_auto);
  return fact +
         "the problem is badly conditioned for its regularization; more --l2 or scaled features "
         "help";
}

std::string why_apart(const Config& config, const RunRecord& record) {
  const std::string fact = "agents agree slowly: ";
  const ProblemSummary& problem = record.problem;
  const bool number = is_druid(config.method) && !config.penalty.published_form();
  const char* or_auto = auto_would_publish(config, record) ? ", or auto" : "";
  if (is_slow(problem))
    return fmt::format(
        "{}news travels slowly through this graph (lambda_2 {:.2g} at a mean degree of {:.2g}); "
        "more links help{}{}",
        fact, problem.lambda_2,
        2 * static_cast<double>(problem.edges) / static_cast<double>(problem.agents),
        number ? ", or a larger --penalty" : "", number ? or_auto : "");
  if (number) return fmt::format("{}the links are soft; use a larger --penalty{}", fact, or_auto);
  const Partition::Kind kind = config.partition.meaning()->kind;
  if (kind != Partition::Kind::even && kind != Partition::Kind::stride)
    return fact + "their shards differ much; evenly dealt samples help";
  const bool complete = 2 * problem.edges == problem.agents * (problem.agents - 1);
  return fact + "this takes more --rounds" + (complete ? "" : ", or a graph with more links");
}

/// What holds the slower of the two measures back.
std::string cause(const Config& config, const RunRecord& record, bool beyond_bound) {
  if (std::string outside = hindrance(config, record); !outside.empty()) return outside;
  if (beyond_bound && !is_druid(config.method))
    return fmt::format("the step {:.3g} is longer than is safe; use a smaller --step",
                       *config.step);
  // Short gradient steps leave agents apart as well, whatever their links weigh.
  const double factor = config.method.solves_by(LocalSolverKind::gradient_step) ? 10 : 1;
  return disagree(record, factor) ? why_apart(config, record) : why_far(config, record);
}

std::string resting(const RunRecord& record) {
  const double mean = mean_participation(record);
  return mean < 1 ? fmt::format(" Agents rested in {:.3g} % of the rounds.", 100 * (1 - mean)) : "";
}

constexpr double silent = 0.1;                    ///< of what the median agent has said
constexpr std::uint64_t fewest_activations = 20;  ///< of the median agent, before anybody is blamed
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

std::string explain_inactivity(const RunRecord& record, const Graph& graph,
                               std::span<const std::uint64_t> activations) {
  if (!was_slow(record) || activations.empty()) return "";
  const std::uint64_t usual = median_of(activations);
  if (usual < fewest_activations) return "";
  std::vector<AgentId> quiet;
  for (std::uint32_t i = 0; i < activations.size(); ++i)
    if (static_cast<double>(activations[i]) < silent * static_cast<double>(usual))
      quiet.push_back(AgentId{i});
  if (quiet.empty()) return "";
  const AgentId first = quiet.front();
  return fmt::format(
      "rarely active: {} {}. Agent {} was active {} times, the median agent {} times; "
      "waiting for it: {}.",
      quiet.size() == 1 ? "agent" : "agents", named(quiet), first.value, activations[first.value],
      usual, named(graph.neighbours(first)));
}

std::string explain_events(std::span<const RunEvent> of_links) {
  if (of_links.empty()) return "";
  std::vector<AgentId> agents;
  for (const RunEvent& event : of_links)
    if (std::ranges::find(agents, AgentId{event.agent}) == agents.end())
      agents.push_back(AgentId{event.agent});
  return fmt::format(
      "{} {} changed the weights of links on the way, {} times in all: the network is "
      "narrow there, its shards differ, or second derivatives fade (events in the record).",
      agents.size() == 1 ? "agent" : "agents", named(agents), of_links.size());
}

std::string explain_slowness(const Config& config, const RunRecord& record, bool beyond_bound) {
  const std::span<const TracePoint> trace(record.trace);
  if (!was_slow(record) || !(config.tolerance > 0) || trace.size() < 2) return "";
  if (!ended_early(record))
    return fmt::format("took {} rounds: {}.{}", record.outcome.rounds,
                       config.tolerance < rounding
                           ? "only rounding is left; a larger --tolerance ends the run earlier"
                           : cause(config, record, beyond_bound),
                       resting(record));
  const auto last = ending(record);
  const double now = least_left(last, record);
  if (!std::isfinite(now) || now <= config.tolerance) return "";
  if (now < rounding)
    return fmt::format(
        "not converged: only rounding is left ({:.1e} of its scale); a larger --tolerance ends the "
        "run earlier.",
        now);
  std::string outlook;
  if (trace.size() >= fewest_points) {
    const double before = least_left(trace.last(2 * last.size()).first(last.size()), record);
    const std::string reason = now > standstill * before ? stalled(config, now) : "";
    if (!reason.empty()) return "not converged: " + reason + "." + resting(record);
    const Round since = trace[trace.size() - last.size() - 1].round;
    const double more = std::ceil(std::log(now / config.tolerance) / std::log(before / now) *
                                  static_cast<double>(last.back().round - since));
    if (now < before && more <= farthest_outlook * static_cast<double>(last.back().round))
      outlook = fmt::format(" At this pace about {:.0f} more rounds are needed.", more);
  }
  return "not converged: " + cause(config, record, beyond_bound) + "." + outlook + resting(record);
}

}  // namespace grove
