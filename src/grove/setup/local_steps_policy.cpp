#include "grove/setup/local_steps_policy.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace grove {
namespace {

constexpr double most_steps = 10;     ///< beyond, local steps follow a model that has become stale
constexpr double small_change = 0.1;  ///< of an agent's turn

/// What one local step of an agent computes.
Cost one_step(const Config& config, const Objective& objective) {
  const auto samples = static_cast<std::uint64_t>(objective.samples());
  const bool batches = config.sampling == SamplingKind::minibatch;
  // Where Hessians are kept for as long as they hold, a step is a gradient and a solve.
  const bool keeps_hessians = config.sampling == SamplingKind::variance_reduced ||
                              config.sampling == SamplingKind::adaptive ||
                              config.penalty.published_form();
  return {.gradient_samples = batches ? std::min(samples, config.batch_gradient) : samples,
          .hessian_samples = keeps_hessians ? 0
                             : batches      ? std::min(samples, config.batch_hessian)
                                            : samples,
          .solves = 1};
}

std::string milliseconds(double seconds) { return fmt::format("{:.3g} ms", 1e3 * seconds); }

}  // namespace

LocalStepsChoice choose_work(const WorkTimes& times, bool free_running) {
  const double waiting =
      free_running ? times.neighbour_step : times.neighbour_turn - (times.turn - times.step);
  const double fitting = std::floor((waiting + small_change * times.turn) / times.step);
  const int steps = static_cast<int>(std::clamp(fitting, 1.0, most_steps));
  if (steps == 1 && times.neighbour.empty())
    return {1, "it has no neighbours: a step does as much in the next round"};
  if (steps == 1)
    return {1, fmt::format("a second step of {} would {}", milliseconds(times.step),
                           free_running ? fmt::format("miss the news that {} has", times.neighbour)
                                        : "keep others waiting")};
  if (waiting < 2 * times.step)
    return {steps, fmt::format("steps of {} are little beside messages that take {}",
                               milliseconds(times.step), milliseconds(times.turn - times.step))};
  return {steps, fmt::format("steps of {} fit into the {} that {} takes", milliseconds(times.step),
                             milliseconds(waiting), times.neighbour)};
}

std::vector<LocalStepsChoice> choose_work(const Config& config, const Instance& instance,
                                          const Machines& machines) {
  std::vector<WorkTimes> all;
  for (std::uint32_t i = 0; i < instance.agents(); ++i) {
    const double step =
        machines.work_seconds(AgentId{i}, {}, one_step(config, *instance.objectives[i]));
    all.push_back({.step = step, .turn = step + machines.longest_latency(AgentId{i})});
  }
  std::vector<LocalStepsChoice> choices;
  for (std::uint32_t i = 0; i < instance.agents(); ++i) {
    WorkTimes times = all[i];
    for (const AgentId neighbour : instance.graph.neighbours(AgentId{i})) {
      const WorkTimes& theirs = all[neighbour.value];
      const bool counts =
          times.neighbour_turn == 0 || (config.free_running ? theirs.step < times.neighbour_step
                                                            : theirs.turn > times.neighbour_turn);
      if (!counts) continue;
      times.neighbour = fmt::format("agent {}", neighbour.value);
      times.neighbour_step = theirs.step;
      times.neighbour_turn = theirs.turn;
    }
    choices.push_back(choose_work(times, config.free_running));
  }
  return choices;
}

}  // namespace grove
