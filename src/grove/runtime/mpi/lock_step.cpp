#include "grove/runtime/mpi/lock_step.h"

#include <algorithm>
#include <cassert>

#include "grove/runtime/mpi/collectives.h"

namespace grove::mpi {

LockStep::LockStep(MPI_Comm processes, std::vector<std::unique_ptr<Agent>> agents,
                   const Graph& graph, Schedule schedule, const ClusterOptions& options)
    : processes_(processes),
      network_size_(graph.agents()),
      own_(agents_of(graph.agents(), rank_in(processes), size_of(processes))),
      schedule_(schedule),
      driver_(std::move(agents), own_, graph, std::move(schedule),
              {.seed = options.seed, .faults = options.faults, .threads = options.threads}),
      exchange_(processes, graph),
      seconds_(options.seconds),
      slowness_(options.slowness),
      pause_(options.pause) {
  for (std::uint32_t i = own_.first; i < own_.last; ++i) {
    const bool inside = std::ranges::all_of(graph.neighbours(AgentId{i}),
                                            [&](AgentId other) { return own_.contains(other); });
    (inside ? interior_ : border_).push_back(i - own_.first);
  }
  report_.agents = own_.size();
  report_.threads = static_cast<std::uint64_t>(driver_.threads());
}

void LockStep::advance() {
  const auto is_active = [&](AgentId id) { return driver_.activation_of(id).has_value(); };
  const double began = seconds_();
  driver_.begin_round();
  const double drawn = seconds_();
  driver_.activate(border_);
  const double border_done = seconds_();
  exchange_.begin(is_active, [&](const ProcessLink& link) {
    return driver_.agent(link.from).message_to(link.slot_at_sender);
  });
  const double sent = seconds_();
  driver_.activate(interior_);
  if (slowness_ > 1) pause_((slowness_ - 1) * (seconds_() - sent + border_done - drawn));
  const double computed = seconds_();
  exchange_.finish(is_active);
  const double arrived = seconds_();
  driver_.deliver([&](AgentId from, AgentId to) { return exchange_.received(from, to); });
  driver_.end_round();
  count_activations();
  const double ended = seconds_();

  report_.compute_seconds += (border_done - drawn) + (computed - sent);
  report_.wait_seconds += arrived - computed;
  report_.exchange_seconds += (drawn - began) + (sent - border_done) + (ended - arrived);
}

void LockStep::count_activations() {
  for (std::uint32_t i = own_.first; i < own_.last; ++i)
    report_.activations += driver_.activation_of(AgentId{i}).has_value();
}

std::size_t LockStep::active() const {
  std::size_t count = 0;
  if (round() > 0)
    for (std::uint32_t i = 0; i < network_size_; ++i)
      count += schedule_.activation(AgentId{i}, round()).has_value();
  return count;
}

Cost LockStep::cost() const { return total_cost(processes_, driver_.agents()); }

Estimates LockStep::estimates() const { return all_estimates(processes_, driver_.agents()); }

std::vector<AgentReport> LockStep::agent_reports() const {
  return all_reports(processes_, driver_.agents());
}

std::vector<std::string> LockStep::states() const {
  return gather_at_first(processes_, driver_.states());
}

Status LockStep::restore(Round round, std::span<const std::string> states) {
  assert(states.size() == network_size_);
  return driver_.restore(round, states.subspan(own_.first, own_.size()));
}

std::vector<ProcessReport> LockStep::reports() const {
  ProcessReport own = report_;
  own.vectors_sent = exchange_.vectors_sent();
  own.bytes_sent = exchange_.bytes_sent();
  return gather(processes_, own);
}

}  // namespace grove::mpi
