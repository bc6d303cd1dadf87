#include "grove/sums/spanning_tree.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "grove/base/random.h"

namespace grove {
namespace {

constexpr std::uint32_t none = SpanningTree::none;

MemberGraph graph_of(std::size_t size,
                     const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges) {
  MemberGraph graph{.neighbours = std::vector<std::vector<std::uint32_t>>(size),
                    .slowness = std::vector<std::uint32_t>(size, 0)};
  for (const auto& [a, b] : edges) {
    graph.neighbours[a].push_back(b);
    graph.neighbours[b].push_back(a);
  }
  for (auto& list : graph.neighbours) std::ranges::sort(list);
  return graph;
}

MemberGraph path(std::size_t size) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (std::uint32_t k = 0; k + 1 < size; ++k) edges.emplace_back(k, k + 1);
  return graph_of(size, edges);
}

TEST(SpanningTree, OfAPathHasItsRootInTheMiddle) {
  const SpanningTree tree = plan_tree(path(5));
  EXPECT_EQ(tree.root, 2u);
  EXPECT_EQ(tree.depth, 2u);
  EXPECT_EQ(tree.parent, (std::vector<std::uint32_t>{1, 2, none, 2, 3}));
}

// Both middles of an even path are as good; so are all members of a ring: the first wins.
TEST(SpanningTree, PrefersTheFirstOfEquals) {
  EXPECT_EQ(plan_tree(path(4)).root, 1u);
  const SpanningTree ring = plan_tree(graph_of(4, {{0, 1}, {1, 2}, {2, 3}, {0, 3}}));
  EXPECT_EQ(ring.root, 0u);
  EXPECT_EQ(ring.parent, (std::vector<std::uint32_t>{none, 0, 1, 0}));
}

TEST(SpanningTree, OfOneMemberIsThatMember) {
  const SpanningTree tree = plan_tree(path(1));
  EXPECT_EQ(tree.root, 0u);
  EXPECT_EQ(tree.depth, 0u);
}

// Of a complete graph any member could be the root; a slow one is not, and is a leaf.
TEST(SpanningTree, MakesSlowMembersLeaves) {
  MemberGraph graph = graph_of(4, {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}});
  graph.slowness[0] = 3;
  const SpanningTree tree = plan_tree(graph);
  EXPECT_EQ(tree.root, 1u);
  EXPECT_EQ(tree.parent, (std::vector<std::uint32_t>{1, none, 1, 1}));
  // On a ring the way to the far end avoids it.
  MemberGraph ring = graph_of(4, {{0, 1}, {1, 2}, {2, 3}, {0, 3}});
  ring.slowness[1] = 3;
  const SpanningTree round = plan_tree(ring);
  for (const std::uint32_t parent : round.parent) EXPECT_NE(parent, 1u);
}

// Any connected graph: parents are neighbours, all ways end at the root, and no member would have
// made a tree of less depth (by a search of its own from every member).
TEST(SpanningTree, SpansEveryConnectedGraphWithTheLeastDepth) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    KeyedRandom random(RandomKey{.seed = seed, .purpose = Purpose::graph});
    const auto size = static_cast<std::uint32_t>(2 + random.below(20));
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    for (std::uint32_t k = 1; k < size; ++k)
      edges.emplace_back(static_cast<std::uint32_t>(random.below(k)), k);
    for (std::uint32_t i = 0; i < size; ++i)
      for (std::uint32_t j = i + 1; j < size; ++j)
        if (random.uniform() < 0.1 && std::ranges::find(edges, std::pair(i, j)) == edges.end())
          edges.emplace_back(i, j);
    const MemberGraph graph = graph_of(size, edges);
    const SpanningTree tree = plan_tree(graph);
    for (std::uint32_t k = 0; k < size; ++k) {
      std::uint32_t at = k;
      for (std::size_t steps = 0; at != tree.root; ++steps) {
        ASSERT_LE(steps, tree.depth);
        const auto& near = graph.neighbours[at];
        ASSERT_TRUE(std::ranges::binary_search(near, tree.parent[at]));
        at = tree.parent[at];
      }
      std::vector<std::uint32_t> reached{k};
      std::size_t depth = 0;
      while (reached.size() < size) {
        std::vector<std::uint32_t> more = reached;
        for (const std::uint32_t member : reached)
          for (const std::uint32_t next : graph.neighbours[member])
            if (std::ranges::find(more, next) == more.end()) more.push_back(next);
        reached = more;
        ++depth;
      }
      EXPECT_GE(depth, tree.depth) << "seed " << seed << ", from " << k;
    }
  }
}

TEST(SpanningTree, OfManyMembersHasItsRootNearTheMiddle) {
  const SpanningTree tree = plan_tree(path(1001));
  EXPECT_EQ(tree.root, 500u);
  EXPECT_EQ(tree.depth, 500u);
}

}  // namespace
}  // namespace grove
