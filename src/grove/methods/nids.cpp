#include "grove/methods/nids.h"

namespace grove {

NidsRule::NidsRule(const Vector& start) : z_(start), last_gradient_(Vector::Zero(start.size())) {}

void NidsRule::advance(GossipState& state, Workspace& workspace) {
  if (first_) {
    state.gradient_at(state.x, last_gradient_, workspace);
    z_ = state.x - state.step * last_gradient_;
    first_ = false;
  } else {
    Vector& mixed = workspace.trial;
    state.mix(mixed);
    z_ += 0.5 * (mixed + state.sent) - state.x;
  }
  state.sent = -state.x;
  state.context.regularizer.prox(state.step, z_, state.x);
  Vector& gradient = workspace.gradient;
  state.gradient_at(state.x, gradient, workspace);
  state.sent += 2 * state.x - state.step * (gradient - last_gradient_);
  last_gradient_ = gradient;
}

void NidsRule::save(ByteWriter& writer) const {
  writer.put(z_);
  writer.put(last_gradient_);
  writer.put(first_);
}

void NidsRule::load(ByteReader& reader) {
  reader.get(z_);
  reader.get(last_gradient_);
  reader.get(first_);
}

}  // namespace grove
