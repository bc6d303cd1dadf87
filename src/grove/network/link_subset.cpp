#include "grove/network/link_subset.h"

#include <numeric>
#include <utility>
#include <vector>

#include "grove/base/random.h"

namespace grove {
namespace {

/// Fisher and Yates. Random graphs are drawn from step 0 of the purpose.
std::vector<Edge> shuffled(std::span<const Edge> edges, std::uint64_t seed) {
  std::vector<Edge> result(edges.begin(), edges.end());
  KeyedRandom random(RandomKey{.seed = seed, .purpose = Purpose::graph, .step = 1});
  for (std::size_t left = result.size(); left > 1; --left)
    std::swap(result[left - 1], result[random.below(left)]);
  return result;
}

/// Which agents the links so far connect.
class Components {
 public:
  explicit Components(std::size_t agents) : parents_(agents) {
    std::iota(parents_.begin(), parents_.end(), 0u);
  }

  /// False: they were connected before.
  bool join(AgentId a, AgentId b) {
    const std::uint32_t first = root(a.value), second = root(b.value);
    parents_[first] = second;
    return first != second;
  }

 private:
  std::uint32_t root(std::uint32_t agent) {
    while (parents_[agent] != agent) agent = parents_[agent] = parents_[parents_[agent]];
    return agent;
  }

  std::vector<std::uint32_t> parents_;
};

}  // namespace

std::optional<Graph> sparse_subset(const Graph& graph, std::uint64_t seed) {
  const std::size_t agents = graph.agents();
  if (2 * graph.edges().size() <= largest_sparse_degree * agents) return std::nullopt;
  const std::vector<Edge> order = shuffled(graph.edges(), seed);
  std::vector<bool> kept(order.size(), false);
  std::vector<std::size_t> degrees(agents, 0);
  Components components(agents);
  const auto keep_if = [&](auto&& wanted) {
    for (std::size_t k = 0; k < order.size(); ++k) {
      const auto [first, second] = order[k];
      if (kept[k] || !wanted(order[k])) continue;
      kept[k] = true;
      ++degrees[first.value];
      ++degrees[second.value];
      components.join(first, second);
    }
  };
  keep_if([&](const Edge& edge) {
    return degrees[edge.first.value] < subset_degree && degrees[edge.second.value] < subset_degree;
  });
  // Agents whose neighbours have all they need, such as those around a hub.
  keep_if([&](const Edge& edge) {
    return degrees[edge.first.value] < least_subset_degree ||
           degrees[edge.second.value] < least_subset_degree;
  });
  keep_if([&](const Edge& edge) { return components.join(edge.first, edge.second); });
  std::vector<Edge> edges;
  for (std::size_t k = 0; k < order.size(); ++k)
    if (kept[k]) edges.push_back(order[k]);
  auto subset = Graph::from_edges(agents, std::move(edges), "--links");
  if (!subset) return std::nullopt;  // of a graph that is not connected
  return std::move(*subset);
}

}  // namespace grove
