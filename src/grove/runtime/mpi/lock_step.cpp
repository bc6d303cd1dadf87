#include "grove/runtime/mpi/lock_step.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "grove/runtime/mpi/collectives.h"

namespace grove::mpi {

LockStep::LockStep(MPI_Comm processes, std::vector<std::unique_ptr<Agent>> agents,
                   const Graph& graph, Schedule schedule, const ClusterOptions& options)
    : processes_(processes),
      network_size_(graph.agents()),
      own_(agents_of(graph.agents(), rank_in(processes), size_of(processes))),
      agents_(std::move(agents)),
      schedule_(std::move(schedule)),
      exchange_(processes, graph, agents_.front()->estimate().size()),
      delivery_(agents_.size(), options.faults, options.seed),
      seconds_(options.seconds),
      slowness_(options.slowness),
      pause_(options.pause),
      workers_(std::make_unique<Workers>(options.threads)) {
  assert(agents_.size() == own_.size());
  find_sources(graph);
  report_.agents = agents_.size();
  report_.threads = static_cast<std::uint64_t>(workers_->threads());
}

void LockStep::find_sources(const Graph& graph) {
  const auto incoming = exchange_.incoming();
  for (std::uint32_t i = own_.first; i < own_.last; ++i) {
    auto& sources = sources_.emplace_back();
    bool at_border = false;
    for (const AgentId sender : graph.neighbours(AgentId{i})) {
      const auto theirs = graph.neighbours(sender);
      Source source{
          sender,
          static_cast<std::size_t>(std::ranges::lower_bound(theirs, AgentId{i}) - theirs.begin()),
          in_memory};
      if (!own_.contains(sender)) {
        const auto place = std::ranges::lower_bound(
            incoming, std::pair(sender, AgentId{i}), {},
            [](const Exchange::Link& link) { return std::pair(link.from, link.to); });
        source.incoming = static_cast<std::size_t>(place - incoming.begin());
        watched_.push_back(sender);
        at_border = true;
      }
      sources.push_back(source);
    }
    watched_.push_back(AgentId{i});
    (at_border ? border_ : interior_).push_back(i - own_.first);
  }
  std::ranges::sort(watched_);
  watched_.erase(std::unique(watched_.begin(), watched_.end()), watched_.end());
  activations_.resize(watched_.size());
}

const std::optional<Activation>& LockStep::activation_of(AgentId agent) const {
  return activations_[static_cast<std::size_t>(std::ranges::lower_bound(watched_, agent) -
                                               watched_.begin())];
}

void LockStep::advance() {
  ++round_;
  const double began = seconds_();
  draw_activations();
  const double drawn = seconds_();
  work(border_);
  const double spoken = seconds_();
  pack();
  exchange_.begin();
  const double sent = seconds_();
  work(interior_);
  if (slowness_ > 1) pause_((slowness_ - 1) * (seconds_() - sent + spoken - drawn));
  const double worked = seconds_();
  exchange_.finish();
  const double arrived = seconds_();
  workers_->for_each(agents_.size(), [&](std::size_t receiver) { deliver_to(receiver); });
  workers_->for_each(agents_.size(), [&](std::size_t i) { agents_[i]->end_round(); });
  const double ended = seconds_();

  report_.compute_seconds += (spoken - drawn) + (worked - sent);
  report_.wait_seconds += arrived - worked;
  report_.exchange_seconds += (drawn - began) + (sent - spoken) + (ended - arrived);
}

void LockStep::draw_activations() {
  for (std::size_t k = 0; k < watched_.size(); ++k)
    activations_[k] = schedule_.activation(watched_[k], round_);
}

void LockStep::work(std::span<const std::uint32_t> agents) {
  workers_->for_each(agents.size(), [&](std::size_t k) {
    const auto& activation = activation_of(AgentId{own_.first + agents[k]});
    if (activation) agents_[agents[k]]->activate(*activation, workers_->workspace());
  });
  for (const std::uint32_t position : agents)
    report_.activations += activation_of(AgentId{own_.first + position}).has_value();
}

void LockStep::pack() {
  exchange_.pack(
      [&](AgentId id) { return activation_of(id).has_value(); },
      [&](const Exchange::Link& link) { return agent(link.from).message_to(link.slot_at_sender); });
}

void LockStep::deliver_to(std::size_t receiver) {
  const AgentId to{own_.first + static_cast<std::uint32_t>(receiver)};
  const auto& sources = sources_[receiver];
  for (std::size_t slot = 0; slot < sources.size(); ++slot) {
    const Source& source = sources[slot];
    if (source.incoming != in_memory) {
      if (const Message* message = exchange_.heard(source.incoming))
        delivery_.accept(receiver, to, *agents_[receiver], slot, *message, round_);
    } else if (activation_of(source.sender)) {
      delivery_.accept(receiver, to, *agents_[receiver], slot,
                       agent(source.sender).message_to(source.slot_at_sender), round_);
    }
  }
  delivery_.deliver_due(receiver, *agents_[receiver], round_);
}

std::size_t LockStep::active() const {
  std::size_t count = 0;
  if (round_ > 0)
    for (std::uint32_t i = 0; i < network_size_; ++i)
      count += schedule_.activation(AgentId{i}, round_).has_value();
  return count;
}

Cost LockStep::cost() const { return total_cost(processes_, agents_); }

Estimates LockStep::estimates() const { return all_estimates(processes_, agents_); }

std::vector<AgentReport> LockStep::agent_reports() const {
  return all_reports(processes_, agents_);
}

std::vector<std::string> LockStep::states() const {
  std::vector<std::string> own;
  for (std::size_t i = 0; i < agents_.size(); ++i)
    own.push_back(delivery_.state_of(i, *agents_[i]));
  return gather_at_first(processes_, own);
}

Status LockStep::restore(Round round, std::span<const std::string> states) {
  assert(states.size() == network_size_);
  for (std::size_t i = 0; i < agents_.size(); ++i)
    if (Status status = delivery_.restore(i, *agents_[i], states[own_.first + i]); !status)
      return status;
  round_ = round;
  return success();
}

std::vector<ProcessReport> LockStep::reports() const {
  ProcessReport own = report_;
  own.vectors_sent = exchange_.vectors_sent();
  own.bytes_sent = exchange_.bytes_sent();
  return gather(processes_, own);
}

}  // namespace grove::mpi
