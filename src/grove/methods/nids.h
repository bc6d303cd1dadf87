#pragma once

#include "grove/methods/gossip.h"

namespace grove {

/// NIDS (Li, Shi, Yan 2019): z_{k+1} = z_k - x_k + W2 (2 x_k - x_{k-1} - a (g_k - g_{k-1})),
/// x = prox_{a r}(z), with z_1 = x_0 - a g_0. Messages are the vector that W2 multiplies.
class NidsRule {
 public:
  explicit NidsRule(const Vector& start);
  void advance(GossipState& state, Workspace& workspace);
  void save(ByteWriter& writer) const;
  void load(ByteReader& reader);

 private:
  Vector z_, last_gradient_;
  bool first_ = true;
};

}  // namespace grove
