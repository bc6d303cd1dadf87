#include "grove/methods/safeguarded_agent.h"

#include <algorithm>
#include <utility>

namespace grove {
namespace {

/// The sums of the first wave judge the start, the second is the trial of a step from there.
constexpr std::uint64_t first_accepted_wave = 3;

constexpr std::size_t most_kept_events = 2000;  ///< of both methods

TreeNewtonOptions newton_options() { return {.intro = false, .falls_back_to_zero = true}; }

}  // namespace

SafeguardedAgent::SafeguardedAgent(const Safeguard& safeguard, const AgentContext& context,
                                   std::unique_ptr<Agent> method)
    : safeguard_(safeguard),
      context_(context),
      method_(std::move(method)),
      depth_(context.id == AgentId{0}, static_cast<double>(context.network_size)) {}

bool SafeguardedAgent::is_slow() const {
  const double hops = std::max(1.0, depth_.depth());
  return static_cast<double>(activations_) > static_cast<double>(safeguard_.activations) +
                                                 static_cast<double>(safeguard_.per_hop) * hops;
}

bool SafeguardedAgent::runs_away() const {
  constexpr double jump = 1e8;
  const double norm = method_->estimate().stableNorm();
  return !(norm <= jump * std::max(1.0, largest_norm_));
}

void SafeguardedAgent::begin_newton(const Vector& start) {
  AgentContext context = context_;
  context.start = start;
  newton_.emplace(newton_options(), std::move(context));
}

void SafeguardedAgent::activate(const Activation& activation, Workspace& workspace) {
  round_ = activation.round;
  ++activations_;
  if (!given_up_) {
    method_->activate(activation, workspace);
    given_up_ = runs_away();
    if (!given_up_) largest_norm_ = std::max(largest_norm_, method_->estimate().stableNorm());
  }
  cost_ = method_->cost();
  if (!newton_ && (given_up_ || is_slow())) {
    begin_newton(given_up_ ? context_.start : method_->estimate());
    events_.push_back({round_, AgentEvent::Kind::began_sums, 0});
  }
  if (newton_) {
    newton_->activate(activation, workspace);
    const std::uint64_t broadcasts = cost_.broadcasts;
    cost_ += newton_->cost();
    cost_.broadcasts = broadcasts;  // both are in one message
  }
  collect_events();
}

void SafeguardedAgent::collect_events() {
  const auto take = [&](std::span<const AgentEvent> from, std::size_t& taken) {
    for (; taken < from.size(); ++taken)
      if (events_.size() < most_kept_events) events_.push_back(from[taken]);
  };
  take(method_->events(), method_events_);
  if (newton_) take(newton_->events(), newton_events_);
}

Message SafeguardedAgent::message_to(std::size_t slot) const {
  if (given_up_) return newton_->message_to(slot);
  Message message = method_->message_to(slot);
  if (newton_) message.tree = newton_->message_to(slot).tree;
  return message;
}

void SafeguardedAgent::not_sent(std::size_t slot) {
  if (!given_up_) method_->not_sent(slot);
  if (newton_) newton_->not_sent(slot);
}

void SafeguardedAgent::receive(std::size_t slot, const Message& message) {
  if (message.hops) {  // the sender has not given its method up
    depth_.receive(*message.hops);
    if (!given_up_) method_->receive(slot, message);
  }
  if (!message.tree) return;
  if (!newton_) begin_newton(method_->estimate());
  newton_->receive(slot, message);
}

void SafeguardedAgent::end_round() {
  if (!given_up_) method_->end_round();
}

bool SafeguardedAgent::wants_activation(bool received) const {
  return method_->wants_activation(received) || (newton_ && newton_->wants_activation(received));
}

bool SafeguardedAgent::newton_leads() const {
  return newton_ && (given_up_ || newton_->sums().wave().id.number() >= first_accepted_wave);
}

const Vector& SafeguardedAgent::estimate() const {
  return newton_leads() ? newton_->estimate() : method_->estimate();
}

const Vector* SafeguardedAgent::regularized_estimate() const {
  return newton_leads() ? nullptr : method_->regularized_estimate();
}

const AnswerCertificate* SafeguardedAgent::certificate() const {
  return newton_leads() ? newton_->certificate() : nullptr;
}

void SafeguardedAgent::save(ByteWriter& writer) const {
  method_->save(writer);
  writer.put(depth_);
  writer.put(given_up_);
  writer.put(largest_norm_);
  writer.put(activations_);
  writer.put(cost_);
  writer.put(method_events_);
  writer.put(newton_events_);
  writer.put(events_.size());
  for (const AgentEvent& event : events_) writer.put(event);
  writer.put(newton_.has_value());
  if (newton_) newton_->save(writer);
}

Status SafeguardedAgent::load(ByteReader& reader) {
  if (Status status = method_->load(reader); !status) return status;
  reader.get(depth_);
  reader.get(given_up_);
  reader.get(largest_norm_);
  reader.get(activations_);
  reader.get(cost_);
  reader.get(method_events_);
  reader.get(newton_events_);
  std::size_t events = 0;
  reader.get(events);
  events_.resize(std::min(events, most_kept_events));
  for (AgentEvent& event : events_) reader.get(event);
  bool has_newton = false;
  reader.get(has_newton);
  if (!reader.ok()) return Error{"agent state", "does not fit this agent's problem and neighbours"};
  newton_.reset();
  if (!has_newton) return success();
  begin_newton(context_.start);
  return newton_->load(reader);
}

}  // namespace grove
