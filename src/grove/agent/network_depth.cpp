#include "grove/agent/network_depth.h"

#include <algorithm>
#include <array>
#include <bit>

namespace grove {

double NetworkDepth::word() const { return std::bit_cast<double>(std::array{hops_, depth_}); }

void NetworkDepth::hear(double word) {
  const auto [hops, depth] = std::bit_cast<std::array<float, 2>>(word);
  if (hops >= 0 && hops < largest_ && (hops_ == unknown || hops + 1 < hops_)) hops_ = hops + 1;
  if (depth < largest_) depth_ = std::max(depth_, depth);
  depth_ = std::max(depth_, hops_);
}

}  // namespace grove
