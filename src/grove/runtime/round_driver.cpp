#include "grove/runtime/round_driver.h"

#include <algorithm>
#include <cassert>

#include "grove/runtime/workers.h"

namespace grove {

RoundDriver::RoundDriver(std::vector<std::unique_ptr<Agent>> agents, AgentRange own,
                         const Graph& graph, Schedule schedule, const DriverOptions& options)
    : agents_(std::move(agents)),
      own_(own),
      schedule_(std::move(schedule)),
      delivery_(agents_.size(), options.faults, options.seed),
      workers_(std::make_unique<Workers>(options.threads)) {
  assert(agents_.size() == own_.size());
  find_sources(graph);
  if (options.counts_traffic) find_edges(graph);
}

RoundDriver::~RoundDriver() = default;

void RoundDriver::find_sources(const Graph& graph) {
  first_source_.push_back(0);
  for (std::uint32_t i = own_.first; i < own_.last; ++i) {
    watched_.push_back(AgentId{i});
    for (const AgentId sender : graph.neighbours(AgentId{i})) {
      watched_.push_back(sender);
      sources_.push_back({sender, graph.slot_of(sender, AgentId{i}), 0});
    }
    first_source_.push_back(sources_.size());
  }
  std::ranges::sort(watched_);
  watched_.erase(std::unique(watched_.begin(), watched_.end()), watched_.end());
  activations_.resize(watched_.size());
  for (Source& source : sources_)
    source.watched = static_cast<std::size_t>(std::ranges::lower_bound(watched_, source.sender) -
                                              watched_.begin());
}

void RoundDriver::find_edges(const Graph& graph) {
  const auto edges = graph.edges();
  edges_ = edges.size();
  received_.resize(sources_.size());
  for (std::uint32_t i = 0; i < own_.size(); ++i)
    for (std::size_t k = first_source_[i]; k < first_source_[i + 1]; ++k) {
      const AgentId a{own_.first + i}, b = sources_[k].sender;
      const auto edge = std::ranges::lower_bound(edges, Edge{std::min(a, b), std::max(a, b)});
      edge_of_source_.push_back(static_cast<std::size_t>(edge - edges.begin()));
    }
}

std::vector<LinkTraffic> RoundDriver::traffic() const {
  if (received_.empty()) return {};
  std::vector<LinkTraffic> all(edges_);
  for (std::size_t k = 0; k < received_.size(); ++k) {
    all[edge_of_source_[k]].bytes += received_[k].bytes;
    all[edge_of_source_[k]].lost += received_[k].lost;
  }
  return all;
}

const std::optional<Activation>& RoundDriver::activation_of(AgentId agent) const {
  return activations_[static_cast<std::size_t>(std::ranges::lower_bound(watched_, agent) -
                                               watched_.begin())];
}

int RoundDriver::threads() const { return workers_->threads(); }

void RoundDriver::begin_round() {
  ++round_;
  for (std::size_t k = 0; k < watched_.size(); ++k)
    activations_[k] = schedule_.activation(watched_[k], round_);
}

void RoundDriver::activate_all() {
  workers_->for_each(agents_.size(), [&](std::size_t i) {
    const auto& activation = activation_of(AgentId{own_.first + static_cast<std::uint32_t>(i)});
    if (activation) agents_[i]->activate(*activation, workers_->workspace());
  });
}

void RoundDriver::activate(std::span<const std::uint32_t> positions) {
  workers_->for_each(positions.size(), [&](std::size_t k) {
    const auto& activation = activation_of(AgentId{own_.first + positions[k]});
    if (activation) agents_[positions[k]]->activate(*activation, workers_->workspace());
  });
}

void RoundDriver::deliver(const RemoteMessage& remote) {
  workers_->for_each(agents_.size(), [&](std::size_t receiver) { deliver_to(receiver, remote); });
}

void RoundDriver::deliver_to(std::size_t receiver, const RemoteMessage& remote) {
  const AgentId to{own_.first + static_cast<std::uint32_t>(receiver)};
  Agent& agent_there = *agents_[receiver];
  const std::size_t first = first_source_[receiver];
  const auto accept = [&](std::size_t source, const Message& message) {
    const bool arrives =
        delivery_.accept(receiver, to, agent_there, source - first, message, round_);
    if (received_.empty()) return;
    received_[source].bytes += message.payload_bytes();
    received_[source].lost += arrives ? 0 : 1;
  };
  for (std::size_t k = first; k < first_source_[receiver + 1]; ++k) {
    const Source& source = sources_[k];
    if (!activations_[source.watched]) continue;
    if (own_.contains(source.sender))
      accept(k, agent(source.sender).message_to(source.slot_at_sender));
    else if (const Message* message = remote(source.sender, to))
      accept(k, *message);
  }
  delivery_.deliver_due(receiver, agent_there, round_);
}

void RoundDriver::end_round() {
  workers_->for_each(agents_.size(), [&](std::size_t i) { agents_[i]->end_round(); });
}

std::vector<std::string> RoundDriver::states() const {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < agents_.size(); ++i)
    all.push_back(delivery_.state_of(i, *agents_[i]));
  return all;
}

Status RoundDriver::restore(Round round, std::span<const std::string> states) {
  assert(states.size() == agents_.size());
  for (std::size_t i = 0; i < agents_.size(); ++i)
    if (Status status = delivery_.restore(i, *agents_[i], states[i]); !status) return status;
  round_ = round;
  for (std::size_t k = 0; k < watched_.size(); ++k)
    activations_[k] = schedule_.activation(watched_[k], round_);
  return success();
}

}  // namespace grove
