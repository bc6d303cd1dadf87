#pragma once

#include "grove/methods/gossip.h"

namespace grove {

/// PG-EXTRA (Shi, Ling, Wu, Yin 2015): z_{k+1} = z_k + W x_k - W2 x_{k-1} - a (g_k - g_{k-1}),
/// x = prox_{a r}(z), with W2 = (I + W)/2 and z_1 = W x_0 - a g_0. Messages are x.
class PgExtraRule {
 public:
  explicit PgExtraRule(const Vector& start);
  void advance(GossipState& state, Workspace& workspace);
  void save(ByteWriter& writer) const;
  void load(ByteReader& reader);

 private:
  Vector z_, last_x_, last_mixed_, last_gradient_;
  bool first_ = true;
};

}  // namespace grove
