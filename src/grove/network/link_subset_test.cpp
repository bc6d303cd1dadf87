#include "grove/network/link_subset.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "grove/network/spectrum.h"
#include "grove/network/topology.h"

namespace grove {
namespace {

bool is_part_of(const Graph& subset, const Graph& graph) {
  return std::ranges::includes(graph.edges(), subset.edges());
}

std::size_t least_degree(const Graph& graph) {
  std::size_t least = graph.agents();
  for (std::uint32_t i = 0; i < graph.agents(); ++i)
    least = std::min(least, graph.degree(AgentId{i}));
  return least;
}

TEST(LinkSubset, LeavesSparseGraphsAsTheyAre) {
  for (const char* sparse : {"ring", "star", "path", "grid"})
    EXPECT_FALSE(sparse_subset(*make_graph(sparse, 100, 1), 1)) << sparse;
  EXPECT_FALSE(sparse_subset(*make_graph("complete", 13, 1), 1));  // 12 links an agent
  EXPECT_TRUE(sparse_subset(*make_graph("complete", 14, 1), 1));
}

// A random 8-regular graph has a Laplacian with lambda_2 >= 8 - 2 sqrt(7) - o(1) = 2.7 (Friedman
// 2008); a ring of cliques, or any subset with a bottleneck, is far below.
TEST(LinkSubset, OfACompleteGraphIsAnExpanderOfDegreeEight) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    const Graph graph = *make_graph("complete", 142, seed);
    const auto subset = sparse_subset(graph, seed);
    ASSERT_TRUE(subset);
    EXPECT_TRUE(is_part_of(*subset, graph));
    EXPECT_LE(subset->edges().size(), 142u * 8 / 2 + 8);
    EXPECT_GE(subset->edges().size(), 142u * 8 / 2 - 8);
    EXPECT_GT(laplacian_spectrum(*subset).lambda_2, 1.5);
  }
}

TEST(LinkSubset, IsAFunctionOfTheGraphAndTheSeed) {
  const Graph graph = *make_graph("erdos-renyi:0.5", 60, 1);
  const auto first = sparse_subset(graph, 3), again = sparse_subset(graph, 3);
  EXPECT_TRUE(std::ranges::equal(first->edges(), again->edges()));
  EXPECT_FALSE(std::ranges::equal(first->edges(), sparse_subset(graph, 4)->edges()));
}

// Ten hubs, each linked to all of 200 others, which have no links among themselves: hubs are full
// after eight of them, and the others still need links to several hubs.
TEST(LinkSubset, GivesEveryAgentFourLinksWhereItHasThem) {
  std::vector<Edge> edges;
  for (std::uint32_t hub = 0; hub < 10; ++hub)
    for (std::uint32_t agent = 10; agent < 210; ++agent)
      edges.emplace_back(AgentId{hub}, AgentId{agent});
  const Graph graph = *Graph::from_edges(210, edges, "test");
  const auto subset = sparse_subset(graph, 1);
  ASSERT_TRUE(subset);
  EXPECT_TRUE(is_part_of(*subset, graph));
  EXPECT_GE(least_degree(*subset), 4u);
  EXPECT_LE(subset->edges().size(), 200u * 4 + 80);
}

// Two complete graphs of 40 and one link between them: no subset without it is connected.
TEST(LinkSubset, KeepsTheOnlyLinkBetweenTwoParts) {
  std::vector<Edge> edges;
  for (const std::uint32_t first : {0u, 40u})
    for (std::uint32_t i = first; i < first + 40; ++i)
      for (std::uint32_t j = i + 1; j < first + 40; ++j) edges.emplace_back(AgentId{i}, AgentId{j});
  edges.emplace_back(AgentId{7}, AgentId{59});
  const Graph graph = *Graph::from_edges(80, edges, "test");
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    const auto subset = sparse_subset(graph, seed);
    ASSERT_TRUE(subset);
    EXPECT_TRUE(std::ranges::count(subset->edges(), Edge{AgentId{7}, AgentId{59}}));
    EXPECT_LT(subset->edges().size(), 400u);
  }
}

}  // namespace
}  // namespace grove
