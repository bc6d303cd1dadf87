#include "grove/methods/pg_extra.h"

namespace grove {

PgExtraRule::PgExtraRule(const Vector& start)
    : z_(start), last_x_(start), last_mixed_(start), last_gradient_(Vector::Zero(start.size())) {}

void PgExtraRule::advance(GossipState& state, Workspace& workspace) {
  Vector& mixed = workspace.trial;
  Vector& gradient = workspace.gradient;
  state.mix(mixed);
  state.gradient_at(state.x, gradient, workspace);
  if (first_)
    z_ = mixed - state.step * gradient;
  else
    z_ += mixed - 0.5 * (last_x_ + last_mixed_) - state.step * (gradient - last_gradient_);
  last_x_ = state.x;
  last_mixed_ = mixed;
  last_gradient_ = gradient;
  first_ = false;
  state.context.regularizer.prox(state.step, z_, state.x);
  state.sent = state.x;
}

void PgExtraRule::save(ByteWriter& writer) const {
  for (const Vector* part : {&z_, &last_x_, &last_mixed_, &last_gradient_}) writer.put(*part);
  writer.put(first_);
}

void PgExtraRule::load(ByteReader& reader) {
  for (Vector* part : {&z_, &last_x_, &last_mixed_, &last_gradient_}) reader.get(*part);
  reader.get(first_);
}

}  // namespace grove
