#include "grove/run/work_choice.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace grove {
namespace {

constexpr double most_steps = 10;  ///< beyond, local steps follow a model that has become stale

/// What one local step of an agent computes.
Cost one_step(const Config& config, const Objective& objective) {
  const auto samples = static_cast<std::uint64_t>(objective.samples());
  const bool batches = config.sampling == SamplingKind::minibatch;
  // Where Hessians are kept for as long as they hold, a step is a gradient and a solve.
  const bool keeps_hessians = config.sampling == SamplingKind::variance_reduced ||
                              config.sampling == SamplingKind::adaptive ||
                              config.penalty.curvature();
  return {.gradient_samples = batches ? std::min(samples, config.batch_gradient) : samples,
          .hessian_samples = keeps_hessians ? 0
                             : batches      ? std::min(samples, config.batch_hessian)
                                            : samples,
          .solves = 1};
}

std::string milliseconds(double seconds) { return fmt::format("{:.3g} ms", 1e3 * seconds); }

/// A round lasts at least as long as one step of the slowest neighbour and its message, whatever
/// this agent does: steps that fit into that time cost the network nothing. A slow agent with a
/// slow link at most doubles it.
WorkChoice choose(AgentId agent, const Instance& instance, const Machines& machines,
                  const std::vector<double>& step_seconds) {
  const double own = step_seconds[agent.value];
  const auto neighbours = instance.graph.neighbours(agent);
  double longest = 0;
  AgentId slowest = agent;
  for (std::size_t slot = 0; slot < neighbours.size(); ++slot) {
    const double theirs = step_seconds[neighbours[slot].value] + machines.latency(agent, slot);
    if (theirs <= longest) continue;
    longest = theirs;
    slowest = neighbours[slot];
  }
  if (longest < 2 * own)
    return {1, fmt::format("one step takes {}: no neighbour takes twice as long", milliseconds(own))};
  const int steps = static_cast<int>(std::min(most_steps, std::floor(longest / own)));
  return {steps, fmt::format("steps of {} while a step and a message of agent {} take {}",
                             milliseconds(own), slowest.value, milliseconds(longest))};
}

}  // namespace

std::vector<WorkChoice> choose_work(const Config& config, const Instance& instance,
                                    const Machines& machines) {
  std::vector<double> step_seconds;
  for (std::uint32_t i = 0; i < instance.agents(); ++i)
    step_seconds.push_back(
        machines.work_seconds(AgentId{i}, {}, one_step(config, *instance.objectives[i])));
  std::vector<WorkChoice> choices;
  for (std::uint32_t i = 0; i < instance.agents(); ++i)
    choices.push_back(choose(AgentId{i}, instance, machines, step_seconds));
  return choices;
}

}  // namespace grove
