#include "grove/runtime/simulator.h"

#include <algorithm>

namespace grove {
Simulator::Simulator(std::vector<std::unique_ptr<Agent>> agents, const Graph& graph,
                     Schedule schedule, const SimulatorOptions& options)
    : driver_(std::move(agents), {0, static_cast<std::uint32_t>(graph.agents())}, graph,
              std::move(schedule),
              {.seed = options.seed,
               .faults = options.faults,
               .threads = options.threads,
               .counts_traffic = options.counts_traffic}),
      machines_(options.machines) {}

void Simulator::advance() {
  driver_.begin_round();
  driver_.activate_all();
  if (machines_) time_round();
  driver_.deliver();
  driver_.end_round();
}

/// A round lasts until the last message of its active agents has arrived.
void Simulator::time_round() {
  spent_.resize(agents().size());
  round_seconds_ = 0;
  for (std::uint32_t i = 0; i < agents().size(); ++i) {
    const AgentId agent{i};
    if (!driver_.activation_of(agent)) continue;
    const Cost& cost = agents()[i]->cost();
    round_seconds_ = std::max(round_seconds_, machines_->work_seconds(agent, spent_[i], cost) +
                                                  machines_->longest_latency(agent));
    spent_[i] = cost;
  }
}

std::optional<double> Simulator::round_seconds() const {
  return machines_ ? std::optional(round_seconds_) : std::nullopt;
}

std::size_t Simulator::active() const {
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < agents().size(); ++i)
    count += driver_.activation_of(AgentId{i}).has_value();
  return count;
}

std::vector<bool> Simulator::active_agents() const {
  std::vector<bool> active;
  for (std::uint32_t i = 0; i < agents().size(); ++i)
    active.push_back(driver_.activation_of(AgentId{i}).has_value());
  return active;
}

Status Simulator::restore(Round round, std::span<const std::string> states) {
  if (Status status = driver_.restore(round, states); !status) return status;
  spent_.clear();
  for (const auto& agent : agents()) spent_.push_back(agent->cost());
  return success();
}

Cost Simulator::cost() const {
  Cost total;
  for (const auto& agent : agents()) total += agent->cost();
  return total;
}

}  // namespace grove
