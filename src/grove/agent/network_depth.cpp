#include "grove/agent/network_depth.h"

#include <algorithm>

namespace grove {

void NetworkDepth::receive(const HopCounts& neighbour) {
  const float hops = neighbour.from_root + 1;
  const bool shorter = counts_.from_root == HopCounts::unknown || hops < counts_.from_root;
  if (neighbour.from_root >= 0 && neighbour.from_root < limit_ && shorter) counts_.from_root = hops;
  if (neighbour.depth < limit_) counts_.depth = std::max(counts_.depth, neighbour.depth);
  counts_.depth = std::max(counts_.depth, counts_.from_root);
}

}  // namespace grove
