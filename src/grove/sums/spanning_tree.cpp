#include "grove/sums/spanning_tree.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

namespace grove {
namespace {

constexpr std::uint64_t unreached = ~std::uint64_t{0};

/// Shortest ways from one member.
struct Search {
  std::vector<std::uint64_t> distance;  ///< time of the members before this one
  std::vector<std::uint32_t> parent;
  std::uint64_t eccentricity = 0;  ///< the largest distance, with the time of its last member
  std::uint32_t farthest = 0;
};

std::uint64_t time_of(const MemberGraph& graph, std::uint32_t member) {
  return std::uint64_t{1} << std::min<std::uint32_t>(graph.slowness[member], 32);
}

/// Dijkstra's algorithm. Ties go to the way that was found first, and neighbours are visited in
/// order; where nobody is slow this is breadth-first search.
Search search_from(const MemberGraph& graph, std::uint32_t start) {
  const std::size_t size = graph.neighbours.size();
  Search search{.distance = std::vector(size, unreached),
                .parent = std::vector(size, SpanningTree::none)};
  using Entry = std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>;  // distance, order, member
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  std::uint64_t order = 0;
  search.distance[start] = 0;
  open.emplace(0, order++, start);
  while (!open.empty()) {
    const auto [distance, found, member] = open.top();
    open.pop();
    if (distance != search.distance[member]) continue;
    const std::uint64_t through = distance + time_of(graph, member);
    if (through > search.eccentricity) {
      search.eccentricity = through;
      search.farthest = member;
    }
    for (const std::uint32_t next : graph.neighbours[member]) {
      if (through >= search.distance[next]) continue;
      search.distance[next] = through;
      search.parent[next] = member;
      open.emplace(through, order++, next);
    }
  }
  return search;
}

/// Among equals the root is a fast member.
Search best_search(const MemberGraph& graph) {
  Search best = search_from(graph, 0);
  std::uint32_t slowness = graph.slowness[0];
  for (std::uint32_t start = 1; start < graph.neighbours.size(); ++start) {
    Search search = search_from(graph, start);
    if (std::pair(search.eccentricity, graph.slowness[start]) >=
        std::pair(best.eccentricity, slowness))
      continue;
    best = std::move(search);
    slowness = graph.slowness[start];
  }
  return best;
}

/// The member in the middle of a shortest way between two members that are far from each other.
std::uint32_t middle(const MemberGraph& graph) {
  const Search sweep = search_from(graph, search_from(graph, 0).farthest);
  std::uint32_t member = sweep.farthest;
  while (2 * sweep.distance[member] > sweep.eccentricity) member = sweep.parent[member];
  return member;
}

}  // namespace

SpanningTree plan_tree(const MemberGraph& graph) {
  const std::size_t size = graph.neighbours.size();
  assert(size > 0 && graph.slowness.size() == size);
  Search search = size <= exact_root_limit ? best_search(graph) : search_from(graph, middle(graph));
  SpanningTree tree{.parent = std::move(search.parent)};
  for (std::uint32_t member = 0; member < size; ++member) {
    if (search.distance[member] == 0) tree.root = member;
    std::size_t links = 0;
    for (std::uint32_t at = member; tree.parent[at] != SpanningTree::none; at = tree.parent[at])
      ++links;
    tree.depth = std::max(tree.depth, links);
  }
  return tree;
}

}  // namespace grove
