#include "grove/network/graph.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <Eigen/Eigenvalues>

#include "grove/network/spectrum.h"

namespace grove {
namespace {

AgentId agent(std::size_t number) { return AgentId{static_cast<std::uint32_t>(number)}; }

std::string refusal(std::size_t agents, std::vector<Edge> edges) {
  const auto graph = Graph::from_edges(agents, std::move(edges), "--graph");
  return graph ? "" : graph.error().text();
}

TEST(Graph, RefusesWhatIsNotASimpleConnectedGraphAndNamesTheAgents) {
  EXPECT_EQ(refusal(3, {{agent(0), agent(1)}, {agent(2), agent(2)}}),
            "--graph: agent 2 is linked to itself, expected two different agents");
  EXPECT_EQ(refusal(3, {{agent(3), agent(1)}}),
            "--graph: agent 3 is unknown, expected agents 0 to 2");
  EXPECT_EQ(refusal(2, {{agent(0), agent(1)}, {agent(1), agent(0)}}),
            "--graph: edge 0 1 is given twice; an edge joins both ways, expected it once");
  EXPECT_EQ(refusal(4, {{agent(0), agent(1)}, {agent(2), agent(3)}}),
            "--graph: agent 2 cannot be reached from agent 0, expected a connected graph");
}

TEST(Graph, OneAgentAloneIsConnected) {
  const auto graph = Graph::from_edges(1, {}, "--graph");
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->agents(), 1u);
  EXPECT_EQ(graph->degree(agent(0)), 0u);
  EXPECT_TRUE(metropolis_weights(*graph, agent(0)).empty());
}

/// Any set of edges between 2 to 12 agents, connected or not, in any order and direction.
struct RandomEdges {
  std::size_t agents = 0;
  std::vector<Edge> edges;
};

RandomEdges draw_edges() {
  RandomEdges drawn;
  drawn.agents = *rc::gen::inRange<std::size_t>(2, 13);
  for (std::size_t first = 0; first < drawn.agents; ++first)
    for (std::size_t second = first + 1; second < drawn.agents; ++second) {
      if (*rc::gen::inRange(0, 3) != 0) continue;
      drawn.edges.emplace_back(agent(first), agent(second));
      if (*rc::gen::arbitrary<bool>())
        std::swap(drawn.edges.back().first, drawn.edges.back().second);
    }
  const auto front = drawn.edges.begin();
  if (!drawn.edges.empty())
    std::rotate(front, front + *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(drawn.edges)),
                drawn.edges.end());
  return drawn;
}

/// Warshall's transitive closure: is every agent reached from agent 0?
bool naively_connected(const RandomEdges& drawn) {
  std::vector<std::vector<bool>> reach(drawn.agents, std::vector<bool>(drawn.agents));
  for (const auto& [first, second] : drawn.edges)
    reach[first.value][second.value] = reach[second.value][first.value] = true;
  for (std::size_t via = 0; via < drawn.agents; ++via)
    for (std::size_t from = 0; from < drawn.agents; ++from)
      for (std::size_t to = 0; to < drawn.agents; ++to)
        if (reach[from][via] && reach[via][to]) reach[from][to] = true;
  for (std::size_t to = 1; to < drawn.agents; ++to)
    if (!reach[0][to]) return false;
  return true;
}

RC_GTEST_PROP(Graph, IsAcceptedExactlyWhenEveryAgentCanBeReached, ()) {
  const RandomEdges drawn = draw_edges();
  const auto graph = Graph::from_edges(drawn.agents, drawn.edges, "--graph");
  RC_ASSERT(static_cast<bool>(graph) == naively_connected(drawn));
}

RC_GTEST_PROP(Graph, NeighboursAreSortedSymmetricAndExactlyTheEdges, ()) {
  const RandomEdges drawn = draw_edges();
  const auto graph = Graph::from_edges(drawn.agents, drawn.edges, "--graph");
  RC_PRE(static_cast<bool>(graph));
  RC_ASSERT(std::ranges::is_sorted(graph->edges()));
  std::size_t degrees = 0;
  for (std::size_t number = 0; number < drawn.agents; ++number) {
    const auto neighbours = graph->neighbours(agent(number));
    RC_ASSERT(std::ranges::is_sorted(neighbours));
    degrees += graph->degree(agent(number));
    for (const AgentId neighbour : neighbours) {
      const Edge forth{agent(number), neighbour}, back{neighbour, agent(number)};
      RC_ASSERT(std::ranges::count(drawn.edges, forth) + std::ranges::count(drawn.edges, back) ==
                1);
      const auto returned = graph->neighbours(neighbour);
      RC_ASSERT(std::ranges::binary_search(returned, agent(number)));
    }
  }
  RC_ASSERT(degrees == 2 * drawn.edges.size());
}

RC_GTEST_PROP(Metropolis, WeightsAreSymmetricAndLeaveAPositiveWeightForOneself, ()) {
  const RandomEdges drawn = draw_edges();
  const auto graph = Graph::from_edges(drawn.agents, drawn.edges, "--graph");
  RC_PRE(static_cast<bool>(graph));
  Matrix mixing = Matrix::Zero(static_cast<Index>(drawn.agents), static_cast<Index>(drawn.agents));
  for (std::uint32_t i = 0; i < drawn.agents; ++i) {
    const auto weights = metropolis_weights(*graph, AgentId{i});
    const auto neighbours = graph->neighbours(AgentId{i});
    RC_ASSERT(weights.size() == neighbours.size());
    for (std::size_t k = 0; k < weights.size(); ++k) mixing(i, neighbours[k].value) = weights[k];
    mixing(i, i) = 1 - std::accumulate(weights.begin(), weights.end(), 0.0);
  }
  RC_ASSERT(mixing == mixing.transpose());
  RC_ASSERT(mixing.diagonal().minCoeff() > 0);
  // Doubly stochastic and connected, so 1 is the largest eigenvalue and every other is above -1.
  const Vector eigenvalues = mixing.selfadjointView<Eigen::Lower>().eigenvalues();
  RC_ASSERT(std::abs(eigenvalues.maxCoeff() - 1) < 1e-12);
  RC_ASSERT(eigenvalues.minCoeff() > -1);
}

// Agent 0 of a star of 4 has degree 3, the leaves 1: every weight is 1/4.
TEST(Metropolis, StarByHand) {
  const auto star = Graph::from_edges(
      4, {{agent(0), agent(1)}, {agent(0), agent(2)}, {agent(0), agent(3)}}, "--graph");
  ASSERT_TRUE(star);
  EXPECT_EQ(metropolis_weights(*star, agent(0)), std::vector<double>(3, 0.25));
  EXPECT_EQ(metropolis_weights(*star, agent(2)), std::vector<double>(1, 0.25));
}

}  // namespace
}  // namespace grove
