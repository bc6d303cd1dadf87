#include "grove/runtime/event_simulator.h"

#include <algorithm>
#include <cassert>

namespace grove {

EventSimulator::EventSimulator(std::vector<std::unique_ptr<Agent>> agents, const Graph& graph,
                               std::vector<int> work_loads, EventOptions options)
    : agents_(std::move(agents)),
      graph_(graph),
      work_loads_(std::move(work_loads)),
      options_(std::move(options)),
      states_(agents_.size()) {
  if (options_.counts_traffic) traffic_.resize(graph_.edges().size());
  if (options_.speeds.empty()) options_.speeds.assign(agents_.size(), 1.0);
  for (std::uint32_t i = 0; i < agents_.size(); ++i) {
    save_checkpoint(AgentId{i});
    schedule({.time = 0, .kind = Kind::start, .agent = AgentId{i}});
  }
  for (const Crash& crash : options_.crashes)
    schedule(
        {.time = crash.at, .kind = Kind::crash, .agent = crash.agent, .duration = crash.down_for});
}

void EventSimulator::run_until(double virtual_seconds) {
  while (!events_.empty() && events_.top().time <= virtual_seconds) play_one();
  now_ = std::max(now_, virtual_seconds);
}

std::optional<AgentId> EventSimulator::play_one() {
  const Event event = events_.top();
  events_.pop();
  now_ = event.time;
  return handle(event) ? std::optional(event.agent) : std::nullopt;
}

/// True if an activation is over.
bool EventSimulator::handle(const Event& event) {
  const State& state = states_[event.agent.value];
  switch (event.kind) {
    case Kind::start:
      if (state.phase == Phase::idle && event.token == state.token) start(event.agent);
      break;
    case Kind::finish:
      if (state.phase != Phase::busy || event.token != state.token) break;
      finish(event.agent);
      return true;
    case Kind::arrive:
      arrive(event);
      break;
    case Kind::crash:
      crash(event);
      break;
    case Kind::recover:
      recover(event.agent);
      break;
  }
  return false;
}

/// An agent computes with what it knows when it starts; what arrives meanwhile waits in the inbox.
void EventSimulator::start(AgentId agent) {
  State& state = states_[agent.value];
  const int steps = work_loads_[agent.value];
  const Cost before = agents_[agent.value]->cost();
  agents_[agent.value]->activate({.round = ++state.activations, .local_steps = steps}, workspace_);
  enter(agent, Phase::busy);
  const double seconds = options_.machines ? options_.machines->work_seconds(
                                                 agent, before, agents_[agent.value]->cost())
                                           : steps / options_.speeds[agent.value];
  schedule({.time = now_ + seconds, .kind = Kind::finish, .agent = agent, .token = state.token});
}

void EventSimulator::finish(AgentId agent) {
  State& state = states_[agent.value];
  send_messages(agent);
  agents_[agent.value]->end_round();
  if (state.activations % options_.checkpoint_every == 0) save_checkpoint(agent);
  enter(agent, Phase::idle);
  const bool received = !state.inbox.empty();
  for (const Event& arrival : state.inbox)
    agents_[agent.value]->receive(arrival.slot, arrival.message->view());
  state.inbox.clear();
  const bool again = agents_[agent.value]->wants_activation(received);
  schedule({.time = now_ + (again ? 0.0 : options_.patience),
            .kind = Kind::start,
            .agent = agent,
            .token = state.token});
}

void EventSimulator::arrive(const Event& event) {
  State& state = states_[event.agent.value];
  if (state.phase == Phase::down) return;
  if (state.phase == Phase::busy) {
    state.inbox.push_back(event);
    return;
  }
  agents_[event.agent.value]->receive(event.slot, event.message->view());
  if (!agents_[event.agent.value]->wants_activation(true)) return;
  // Started by an event of its own, so that all that arrives at this moment is received first.
  schedule({.time = now_, .kind = Kind::start, .agent = event.agent, .token = state.token});
}

void EventSimulator::crash(const Event& event) {
  State& state = states_[event.agent.value];
  enter(event.agent, Phase::down);
  state.inbox.clear();
  schedule({.time = now_ + event.duration, .kind = Kind::recover, .agent = event.agent});
}

void EventSimulator::recover(AgentId agent) {
  State& state = states_[agent.value];
  ByteReader reader(state.checkpoint);
  [[maybe_unused]] const Status loaded = agents_[agent.value]->load(reader);
  assert(loaded);
  enter(agent, Phase::idle);
  schedule({.time = now_, .kind = Kind::start, .agent = agent, .token = state.token});
}

void EventSimulator::send_messages(AgentId sender) {
  for (std::size_t slot = 0; slot < graph_.degree(sender); ++slot) send(sender, slot);
}

void EventSimulator::send(AgentId sender, std::size_t slot) {
  const AgentId receiver = graph_.neighbours(sender)[slot];
  const std::uint64_t number = states_[sender.value].activations;
  const bool lost = cut_between(sender, receiver) ||
                    draw(Purpose::message_loss, sender, receiver, number) < options_.loss_rate;
  if (!traffic_.empty())
    count(sender, receiver, agents_[sender.value]->message_to(slot).payload_bytes(), lost);
  if (lost) return;
  const bool twice =
      draw(Purpose::message_copy, sender, receiver, number) < options_.duplicate_rate;
  const auto message =
      std::make_shared<const StoredMessage>(agents_[sender.value]->message_to(slot));
  const double latency =
      options_.machines ? options_.machines->latency(sender, slot) : options_.latency;
  for (std::uint64_t copy = 0; copy < (twice ? 2u : 1u); ++copy) {
    const double swing = 2 * draw(Purpose::message_delay, sender, receiver, 2 * number + copy) - 1;
    schedule({.time = now_ + latency * (1 + options_.jitter * swing),
              .kind = Kind::arrive,
              .agent = receiver,
              .slot = graph_.slot_of(receiver, sender),
              .message = message});
  }
}

void EventSimulator::count(AgentId sender, AgentId receiver, std::uint64_t bytes, bool lost) {
  const auto edges = graph_.edges();
  const Edge edge{std::min(sender, receiver), std::max(sender, receiver)};
  LinkTraffic& link =
      traffic_[static_cast<std::size_t>(std::ranges::lower_bound(edges, edge) - edges.begin())];
  link.bytes += bytes;
  link.lost += lost ? 1 : 0;
}

void EventSimulator::schedule(Event event) {
  event.order = scheduled_++;
  events_.push(std::move(event));
}

void EventSimulator::enter(AgentId agent, Phase phase) {
  states_[agent.value].phase = phase;
  ++states_[agent.value].token;
}

void EventSimulator::save_checkpoint(AgentId agent) {
  ByteWriter writer;
  agents_[agent.value]->save(writer);
  states_[agent.value].checkpoint = writer.bytes();
}

bool EventSimulator::cut_between(AgentId a, AgentId b) const {
  return std::ranges::any_of(options_.cuts, [&](const Cut& cut) {
    const bool a_inside = std::ranges::find(cut.side, a) != cut.side.end();
    const bool b_inside = std::ranges::find(cut.side, b) != cut.side.end();
    return cut.from <= now_ && now_ < cut.until && a_inside != b_inside;
  });
}

double EventSimulator::draw(Purpose purpose, AgentId from, AgentId to, std::uint64_t number) const {
  return KeyedRandom(RandomKey{.seed = options_.seed,
                               .purpose = purpose,
                               .agent = from.value,
                               .round = number,
                               .step = to.value})
      .uniform();
}

Cost EventSimulator::cost() const {
  Cost total;
  for (const auto& agent : agents_) total += agent->cost();
  return total;
}

}  // namespace grove
