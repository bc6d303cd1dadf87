#include "grove/runtime/simulator.h"

#include <algorithm>
#include <cassert>

#include "grove/runtime/workers.h"

namespace grove {

Simulator::Simulator(std::vector<std::unique_ptr<Agent>> agents, const Graph& graph,
                     Schedule schedule, const SimulatorOptions& options)
    : agents_(std::move(agents)),
      schedule_(std::move(schedule)),
      activations_(agents_.size()),
      delivery_(agents_.size(), options.faults, options.seed),
      machines_(options.machines),
      workers_(std::make_unique<Workers>(options.threads)) {
  first_source_.push_back(0);
  for (std::uint32_t i = 0; i < agents_.size(); ++i) {
    for (const AgentId sender : graph.neighbours(AgentId{i})) {
      const auto theirs = graph.neighbours(sender);
      const auto slot = std::ranges::lower_bound(theirs, AgentId{i}) - theirs.begin();
      sources_.push_back({sender, static_cast<std::size_t>(slot)});
    }
    first_source_.push_back(sources_.size());
  }
}

Simulator::~Simulator() = default;

void Simulator::advance() {
  ++round_;
  work();
  if (machines_) time_round();
  deliver();
  workers_->for_each(agents_.size(), [&](std::size_t i) { agents_[i]->end_round(); });
}

void Simulator::work() {
  workers_->for_each(agents_.size(), [&](std::size_t i) {
    activations_[i] = schedule_.activation(AgentId{static_cast<std::uint32_t>(i)}, round_);
    if (activations_[i]) agents_[i]->activate(*activations_[i], workers_->workspace());
  });
}

/// A round lasts until the last message of those who worked in it has arrived.
void Simulator::time_round() {
  spent_.resize(agents_.size());
  round_seconds_ = 0;
  for (std::uint32_t i = 0; i < agents_.size(); ++i) {
    if (!activations_[i]) continue;
    const AgentId agent{i};
    const Cost& cost = agents_[i]->cost();
    round_seconds_ = std::max(round_seconds_, machines_->work_seconds(agent, spent_[i], cost) +
                                                  machines_->longest_latency(agent));
    spent_[i] = cost;
  }
}

std::optional<double> Simulator::round_seconds() const {
  return machines_ ? std::optional(round_seconds_) : std::nullopt;
}

void Simulator::deliver() {
  workers_->for_each(agents_.size(), [&](std::size_t receiver) { deliver_to(receiver); });
}

void Simulator::deliver_to(std::size_t receiver) {
  const std::size_t first = first_source_[receiver];
  for (std::size_t k = first; k < first_source_[receiver + 1]; ++k) {
    const Source& source = sources_[k];
    if (!activations_[source.sender.value]) continue;
    const Message message = agents_[source.sender.value]->message_to(source.slot_at_sender);
    delivery_.accept(receiver, AgentId{static_cast<std::uint32_t>(receiver)}, *agents_[receiver],
                     k - first, message, round_);
  }
  delivery_.deliver_due(receiver, *agents_[receiver], round_);
}

std::size_t Simulator::active() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(activations_, [](const auto& a) { return a.has_value(); }));
}

std::vector<std::string> Simulator::states() const {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < agents_.size(); ++i)
    all.push_back(delivery_.state_of(i, *agents_[i]));
  return all;
}

Status Simulator::restore(Round round, std::span<const std::string> states) {
  assert(states.size() == agents_.size());
  for (std::size_t i = 0; i < agents_.size(); ++i)
    if (Status status = delivery_.restore(i, *agents_[i], states[i]); !status) return status;
  round_ = round;
  spent_.clear();
  for (const auto& agent : agents_) spent_.push_back(agent->cost());
  for (std::uint32_t i = 0; i < agents_.size(); ++i)
    activations_[i] = schedule_.activation(AgentId{i}, round_);
  return success();
}

Cost Simulator::cost() const {
  Cost total;
  for (const auto& agent : agents_) total += agent->cost();
  return total;
}

}  // namespace grove
