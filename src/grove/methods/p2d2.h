#pragma once

#include "grove/methods/gossip.h"

namespace grove {

/// P2D2 (Alghunaim, Yuan, Sayed 2019): z_{k+1} = W2 (z_k + x_k - x_{k-1}) - a (g_k - g_{k-1}),
/// x = prox_{a r}(z), with z_1 = W2 x_0 - a g_0. Messages are z_k + x_k - x_{k-1}.
class P2d2Rule {
 public:
  explicit P2d2Rule(const Vector& start);
  void advance(GossipState& state, Workspace& workspace);
  void save(ByteWriter& writer) const;
  void load(ByteReader& reader);

 private:
  Vector last_gradient_;
};

}  // namespace grove
