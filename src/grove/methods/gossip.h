#pragma once

#include <algorithm>
#include <cassert>

#include "grove/agent/agent.h"

namespace grove {

/// Step of the gradient methods.
struct GossipOptions {
  double step = 0;  ///< a > 0
};

/// What PG-EXTRA, P2D2 and NIDS have in common: every agent applies r itself and averages what
/// its neighbours send with the weights W (symmetric, doubly stochastic).
struct GossipState {
  GossipState(const GossipOptions& options, AgentContext given)
      : context(std::move(given)),
        step(options.step),
        x(context.start),
        sent(context.start),
        received(context.start.replicate(1, static_cast<Index>(context.neighbours.size()))) {
    for (const Neighbour& neighbour : context.neighbours) self_weight -= neighbour.mixing_weight;
  }

  /// W sent, as far as this agent sees it; neighbours in slot order.
  void mix(Vector& mixed) const {
    mixed = self_weight * sent;
    for (Index slot = 0; slot < received.cols(); ++slot)
      mixed +=
          context.neighbours[static_cast<std::size_t>(slot)].mixing_weight * received.col(slot);
  }

  void gradient_at(const Vector& point, Vector& gradient, Workspace& workspace) {
    context.objective->evaluate(point, Batch::all(), &gradient, nullptr, workspace.objective);
    cost.gradient_samples += static_cast<std::uint64_t>(context.objective->samples());
  }

  AgentContext context;
  double step;
  double self_weight = 1;
  Vector x;
  Vector sent;      ///< the vector of its messages
  Matrix received;  ///< column per slot: what the neighbours sent last
  std::uint64_t sequence = 0;
  Cost cost;
};

/// An agent whose method is a Rule: `void advance(GossipState&, Workspace&)` sets x and sent from
/// what was received in the last round; save and load cover the rule's own vectors.
template <class Rule>
class GossipAgent final : public Agent {
 public:
  GossipAgent(const GossipOptions& options, AgentContext context)
      : state_(options, std::move(context)), rule_(state_.x) {}

  void activate(const Activation& activation, Workspace& workspace) override {
    workspace.fit(state_.x.size());
    rule_.advance(state_, workspace);
    state_.sequence = activation.round;
    state_.cost.count_broadcast(state_.context.neighbours.size(), state_.x.size());
  }
  Message message_to(std::size_t) const override {
    return {.sender = state_.context.id,
            .sequence = state_.sequence,
            .vector = {state_.sent.data(), static_cast<std::size_t>(state_.sent.size())}};
  }
  void receive(std::size_t slot, const Message& message) override {
    assert(message.vector.size() == static_cast<std::size_t>(state_.received.rows()));
    std::ranges::copy(message.vector, state_.received.col(static_cast<Index>(slot)).data());
  }
  void end_round() override {}
  const Vector& estimate() const override { return state_.x; }
  const Cost& cost() const override { return state_.cost; }

  void save(ByteWriter& writer) const override {
    writer.put(state_.x);
    writer.put(state_.sent);
    writer.put(std::span<const double>(state_.received.data(), state_.received.size()));
    writer.put(state_.sequence);
    writer.put(state_.cost);
    rule_.save(writer);
  }
  Status load(ByteReader& reader) override {
    reader.get(state_.x);
    reader.get(state_.sent);
    reader.get(std::span<double>(state_.received.data(), state_.received.size()));
    reader.get(state_.sequence);
    reader.get(state_.cost);
    rule_.load(reader);
    if (!reader.ok())
      return Error{"agent state", "does not fit this agent's problem and neighbours"};
    return success();
  }

 private:
  GossipState state_;
  Rule rule_;
};

}  // namespace grove
