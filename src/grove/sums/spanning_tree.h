#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace grove {

/// A connected network whose members are known by their positions in some order of their names.
struct MemberGraph {
  std::vector<std::vector<std::uint32_t>> neighbours;  ///< by member, ascending
  std::vector<std::uint32_t> slowness;  ///< by member: a message takes 2^slowness times as long
};

/// A spanning tree with short ways from the root.
struct SpanningTree {
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  std::uint32_t root = 0;
  std::vector<std::uint32_t> parent;  ///< by member; none at the root
  std::size_t depth = 0;              ///< links from the root to the farthest member
};

/// The tree of shortest ways from the member with the least distance to the farthest other one;
/// among equals from the fastest, then the first. A way takes the time of the members on it, so
/// that slow members tend to be leaves. Beyond `exact_root_limit` members the root is the middle of
/// a longest shortest way, which is near that member and costs three searches instead of one per
/// member. A pure function: equal graphs give equal trees at every member.
SpanningTree plan_tree(const MemberGraph& graph);

inline constexpr std::size_t exact_root_limit = 256;

}  // namespace grove
