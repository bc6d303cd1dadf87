#include "grove/methods/p2d2.h"

namespace grove {

// With sent = x_0 and a zero gradient behind it, the general step is also the first.
P2d2Rule::P2d2Rule(const Vector& start) : last_gradient_(Vector::Zero(start.size())) {}

void P2d2Rule::advance(GossipState& state, Workspace& workspace) {
  Vector& z = workspace.trial;
  Vector& gradient = workspace.gradient;
  state.gradient_at(state.x, gradient, workspace);
  state.mix(z);
  z = 0.5 * (z + state.sent) - state.step * (gradient - last_gradient_);
  last_gradient_ = gradient;
  state.sent = z - state.x;
  state.context.regularizer.prox(state.step, z, state.x);
  state.sent += state.x;
}

void P2d2Rule::save(ByteWriter& writer) const { writer.put(last_gradient_); }
void P2d2Rule::load(ByteReader& reader) { reader.get(last_gradient_); }

}  // namespace grove
