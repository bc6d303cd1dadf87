#include "grove/network/topology.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>
#include <set>

#include <gtest/gtest.h>

#include "grove/base/file.h"
#include "grove/network/random_graph.h"
#include "grove/network/spectrum.h"

namespace grove {
namespace {

using Pairs = std::vector<std::pair<int, int>>;

Pairs pairs(const Graph& graph) {
  Pairs result;
  for (const auto& [first, second] : graph.edges())
    result.emplace_back(static_cast<int>(first.value), static_cast<int>(second.value));
  return result;
}

std::string refusal(const std::string& description, std::size_t agents) {
  const auto graph = make_graph(description, agents, 1);
  return graph ? "" : graph.error().text();
}

TEST(Topology, ShapesHaveTheEdgesOneDraws) {
  EXPECT_EQ(pairs(*make_graph("path", 4, 1)), (Pairs{{0, 1}, {1, 2}, {2, 3}}));
  EXPECT_EQ(pairs(*make_graph("ring", 4, 1)), (Pairs{{0, 1}, {0, 3}, {1, 2}, {2, 3}}));
  EXPECT_EQ(pairs(*make_graph("ring", 2, 1)), (Pairs{{0, 1}}));
  EXPECT_EQ(pairs(*make_graph("star", 4, 1)), (Pairs{{0, 1}, {0, 2}, {0, 3}}));
  EXPECT_EQ(pairs(*make_graph("complete", 3, 1)), (Pairs{{0, 1}, {0, 2}, {1, 2}}));
  // 0 1 2
  // 3 4 5
  // 6
  EXPECT_EQ(pairs(*make_graph("grid", 7, 1)),
            (Pairs{{0, 1}, {0, 3}, {1, 2}, {1, 4}, {2, 5}, {3, 4}, {3, 6}, {4, 5}}));
}

TEST(Topology, OneAgentIsLegalEverywhere) {
  for (const char* description :
       {"ring", "path", "star", "grid", "complete", "erdos-renyi:0.1", "geometric:0.1"}) {
    const auto graph = make_graph(description, 1, 1);
    ASSERT_TRUE(graph) << description;
    EXPECT_EQ(graph->agents(), 1u);
    EXPECT_TRUE(graph->edges().empty());
  }
}

// The number of edges is binomial(n(n-1)/2, p): within five standard deviations.
TEST(ErdosRenyi, HasTheExpectedNumberOfEdgesEachEquallyLikely) {
  constexpr std::size_t agents = 10;
  constexpr int draws = 20000;
  constexpr double p = 0.2;
  Matrix counts = Matrix::Zero(agents, agents);
  for (int draw = 0; draw < draws; ++draw) {
    KeyedRandom random({.seed = 11, .purpose = Purpose::graph, .round = std::uint64_t(draw)});
    std::set<Edge> distinct;
    for (const Edge& edge : erdos_renyi_edges(agents, p, random)) {
      ASSERT_LT(edge.first, edge.second);
      ASSERT_LT(edge.second.value, agents);
      ASSERT_TRUE(distinct.insert(edge).second);
      counts(edge.first.value, edge.second.value) += 1;
    }
  }
  const double deviation = std::sqrt(draws * p * (1 - p));
  for (Index i = 0; i < counts.rows(); ++i)
    for (Index j = i + 1; j < counts.cols(); ++j)
      EXPECT_NEAR(counts(i, j), draws * p, 5 * deviation) << i << ' ' << j;
  EXPECT_NEAR(counts.sum(), 45 * draws * p, 5 * std::sqrt(45) * deviation);
}

TEST(ErdosRenyi, WithProbabilityOneIsComplete) {
  EXPECT_EQ(pairs(*make_graph("erdos-renyi:1", 30, 1)), pairs(*make_graph("complete", 30, 1)));
}

TEST(ErdosRenyi, IsRedrawnUntilConnectedAndDependsOnTheSeedOnly) {
  std::set<Pairs> distinct;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto graph = make_graph("erdos-renyi:0.2", 10, seed);  // connected in about one of six
    ASSERT_TRUE(graph) << graph.error().text();
    EXPECT_EQ(pairs(*graph), pairs(*make_graph("erdos-renyi:0.2", 10, seed)));
    distinct.insert(pairs(*graph));
  }
  EXPECT_EQ(distinct.size(), 20u);
}

TEST(ErdosRenyi, TooSparseIsAnErrorWithAProbabilityThatDoes) {
  const std::string hopeless = refusal("erdos-renyi:0.0006", 10000);
  EXPECT_NE(hopeless.find("--graph: erdos-renyi:0.0006 does not give a connected graph of 10000"),
            std::string::npos)
      << hopeless;
  const std::string number = hopeless.substr(hopeless.rfind(' ') + 1);
  EXPECT_TRUE(make_graph("erdos-renyi:" + number, 10000, 1)) << number;
  // Ten isolated agents are expected here: each of the 1000 draws is tried, and fails.
  EXPECT_NE(refusal("erdos-renyi:0.023", 100).find("for example 0.0507"), std::string::npos);
}

// The same points through every pair instead of cells; the stream of numbers is the input.
TEST(Geometric, EqualsTheNaiveConstruction) {
  for (const double radius : {0.003, 0.04, 0.11, 0.34, 0.5, 0.9, 1.4}) {
    constexpr std::size_t agents = 300;
    const RandomKey key{.seed = 5, .purpose = Purpose::graph};
    KeyedRandom random(key), same(key);
    std::vector<Edge> edges = geometric_edges(agents, radius, random);
    std::ranges::sort(edges);
    std::vector<std::array<double, 2>> points(agents);
    for (auto& [x, y] : points) {
      x = same.uniform();
      y = same.uniform();
    }
    std::vector<Edge> expected;
    for (std::uint32_t i = 0; i < agents; ++i)
      for (std::uint32_t j = i + 1; j < agents; ++j)
        if (std::hypot(points[i][0] - points[j][0], points[i][1] - points[j][1]) < radius)
          expected.emplace_back(AgentId{i}, AgentId{j});
    EXPECT_EQ(edges, expected) << radius;
  }
}

TEST(Geometric, TooShortARadiusIsAnErrorWithOneThatDoes) {
  const std::string hopeless = refusal("geometric:0.01", 10000);
  EXPECT_NE(hopeless.find("expected a larger radius"), std::string::npos) << hopeless;
  EXPECT_TRUE(make_graph("geometric:" + hopeless.substr(hopeless.rfind(' ') + 1), 10000, 1));
}

TEST(Topology, BadParametersNameTheFlagAndWhatWasExpected) {
  for (const char* bad : {"erdos-renyi", "erdos-renyi:", "erdos-renyi:0", "erdos-renyi:-0.1",
                          "erdos-renyi:1.1", "erdos-renyi:nan", "erdos-renyi:0.2x"}) {
    const std::string message = refusal(bad, 10);
    EXPECT_TRUE(
        message.starts_with("--graph: expected erdos-renyi:NUMBER with a probability above "
                            "0 and at most 1"))
        << bad << " -> " << message;
  }
  EXPECT_TRUE(refusal("geometric:inf", 10).starts_with("--graph: expected geometric:NUMBER"));
  EXPECT_EQ(refusal("ring:3", 10), "--graph: ring takes no number, got `ring:3`");
  EXPECT_EQ(refusal("ring", 0), "--agents: expected at least one agent");
}

TEST(Topology, UnknownNamesListTheKnownOnesAndTheClosest) {
  const std::string message = refusal("compleet", 10);
  EXPECT_TRUE(
      message.starts_with("--graph: `compleet` is neither a topology nor a file (did you "
                          "mean `complete`?); expected one of erdos-renyi, "))
      << message;
  EXPECT_EQ(refusal("zebra-crossing.txt", 10).find("did you mean"), std::string::npos);
  EXPECT_TRUE(refusal(std::string(5000, 'x'), 4).starts_with("--graph: `xxx"));
}

class GraphFile : public testing::Test {
 protected:
  std::string write(std::string_view content) const {
    EXPECT_TRUE(write_file_atomically(file_, content));
    return file_;
  }
  const std::string file_ = testing::TempDir() + "grove-graph-test.txt";
};

TEST_F(GraphFile, IsReadWithCommentsBlanksAndAnyOrder) {
  const auto graph =
      make_graph(write("# a triangle with a tail\r\n2\t1\n\n 0 1 # first\n0  2\n2 3"), 4, 1);
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_EQ(pairs(*graph), (Pairs{{0, 1}, {0, 2}, {1, 2}, {2, 3}}));
}

TEST_F(GraphFile, FaultsAreNamedWithFileAndLine) {
  const auto expect = [&](std::string_view content, const std::string& message) {
    EXPECT_EQ(refusal(write(content), 4), file_ + message);
  };
  expect("0 1\n# x\n1 2 3\n",
         ":3: has a weight, and line 1 lacks it; expected one on every line, or on none");
  expect("0\n", ":1: expected two agent numbers `i j`, or `i j weight`, got `0`");
  expect("0 1\n1 b\n", ":2: expected two agent numbers `i j`, or `i j weight`, got `1 b`");
  expect("0 -1\n", ":1: expected two agent numbers `i j`, or `i j weight`, got `0 -1`");
  expect("0 1\n4 1\n", ":2: agent 4 is unknown, expected agents 0 to 3");
  expect("0 1\n\n3 3\n", ":3: agent 3 is linked to itself, expected two different agents");
  expect(
      "0 1\n1 2\n2 3\n1 0\n",
      ":4: edge 0 1 is given twice (first on line 1); an edge joins both ways, expected it once");
  expect("0 1\n2 3\n", ": agent 2 cannot be reached from agent 0, expected a connected graph");
  expect("", ": agent 1 cannot be reached from agent 0, expected a connected graph");
}

// W = [[.5 .3 .2 0] [.3 .7 0 0] [.2 0 .5 .3] [0 0 .3 .7]]: the diagonal is what is left of each
// row.
TEST_F(GraphFile, HasAMixingMatrixInItsThirdColumn) {
  const auto graph = make_graph(write("2 0 0.2\n1 0 0.3 # first\n3 2 0.3\n"), 4, 1);
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_EQ(mixing_weights(*graph, AgentId{0}), (std::vector{0.3, 0.2}));
  EXPECT_EQ(mixing_weights(*graph, AgentId{1}), (std::vector{0.3}));
  EXPECT_EQ(mixing_weights(*graph, AgentId{2}), (std::vector{0.2, 0.3}));
  EXPECT_EQ(mixing_weights(*graph, AgentId{3}), (std::vector{0.3}));
}

TEST_F(GraphFile, RefusesMatricesThatAreNotDoublyStochasticWithTheLine) {
  const auto expect = [&](std::string_view content, const std::string& message) {
    EXPECT_EQ(refusal(write(content), 3), file_ + message);
  };
  expect("0 1 0.5\n1 2 0.6\n",
         ":2: weights at agent 1 sum to 1.1 with this line; expected at most 1, the rest being the "
         "agent's own weight");
  expect("0 1 0.5\n1 2 0\n", ":2: the weight is 0; expected a number above 0 and at most 1");
  expect("0 1 0.5\n1 2 -0.1\n", ":2: the weight is -0.1; expected a number above 0 and at most 1");
  expect("0 1 0.5\n1 2\n",
         ":2: lacks a weight, and line 1 has one; expected one on every line, or on none");
  EXPECT_NE(refusal(write("0 1 1\n"), 2).find("eigenvalue -1"), std::string::npos);
  EXPECT_TRUE(make_graph(write("0 1 0.5\n1 2 0.5\n0 2 0.5\n"), 3, 1));  // odd: no eigenvalue -1
}

TEST(Topology, GraphsThatWouldFillTheMemoryAreRefusedBeforeTheyAreMade) {
  for (const char* large : {"complete", "erdos-renyi:0.3", "geometric:0.5"})
    EXPECT_NE(refusal(large, 1'000'000).find("edges; expected at most 5e+07"), std::string::npos);
}

TEST_F(GraphFile, AFolderIsNoGraph) {
  EXPECT_NE(refusal(testing::TempDir(), 4).find("is a directory"), std::string::npos);
}

}  // namespace
}  // namespace grove
