// Speed and scale of the simulator: time per agent-round and memory as the network grows a
// hundredfold, and what a second thread gives.
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "grove/base/random.h"
#include "grove/network/random_graph.h"
#include "grove/run/instance.h"
#include "grove/run/method_setup.h"
#include "grove/runtime/simulator.h"
#include "support/table.h"

namespace {

using namespace grove;

constexpr Index features = 22;
constexpr Index samples_per_agent = 40;

/// Adds links until the graph is connected: one from each part to the next.
void join_parts(std::uint32_t agents, std::vector<Edge>& edges) {
  std::vector<std::uint32_t> part(agents);  // the smallest agent known to be in the same part
  std::iota(part.begin(), part.end(), 0u);
  const auto root = [&](std::uint32_t agent) {
    while (part[agent] != agent) agent = part[agent] = part[part[agent]];
    return agent;
  };
  for (const Edge& edge : edges) {
    const auto [low, high] = std::minmax(root(edge.first.value), root(edge.second.value));
    part[high] = low;
  }
  for (std::uint32_t agent = 1, last = 0; agent < agents; ++agent)
    if (root(agent) == agent) edges.push_back({AgentId{last}, AgentId{agent}}), last = agent;
}

/// A random geometric graph of mean degree about 6. At that degree a few agents in a thousand stand
/// apart from the rest (about e^-6 of them, and more at the border), and one link joins each part.
Graph random_graph(std::uint32_t agents) {
  KeyedRandom random(RandomKey{.seed = 1, .purpose = Purpose::graph});
  const double radius = std::sqrt(6 / (std::numbers::pi * agents));
  std::vector<Edge> edges = geometric_edges(agents, radius, random);
  join_parts(agents, edges);
  return *Graph::from_edges(agents, std::move(edges), "benchmark");
}

Samples random_samples(std::uint32_t agent, Index count) {
  KeyedRandom random(RandomKey{.seed = 1, .purpose = Purpose::synthetic, .agent = agent});
  DenseRows rows(count, features);
  Vector targets(count);
  for (Index j = 0; j < count; ++j) {
    for (Index k = 0; k < features; ++k) rows(j, k) = random.normal();
    targets[j] = random.uniform() < 0.5 ? 0 : 1;
  }
  return {std::move(rows), std::move(targets)};
}

Simulator make_network(std::uint32_t agents, Index samples, int work, int threads) {
  const Graph graph = random_graph(agents);
  std::vector<std::unique_ptr<Agent>> all;
  for (std::uint32_t i = 0; i < agents; ++i) {
    AgentContext context{
        .id = AgentId{i},
        .objective = make_shard_objective(random_samples(i, samples), {.l2 = 1e-3}),
        .regularizer = {.l1 = i == 0 ? 1e-4 : 0, .regularized = features},
        .network_size = agents,
        .start = Vector::Zero(features)};
    for (AgentId neighbour : graph.neighbours(AgentId{i}))
      context.neighbours.push_back({neighbour});
    all.push_back(make_agent(DruidOptions{.penalty = 1e-2, .prox = 2e-2}, std::move(context)));
  }
  return Simulator(std::move(all), graph,
                   Schedule(1, std::vector<double>(agents, 1.0), std::vector<int>(agents, work)),
                   {.seed = 1, .threads = threads});
}

double seconds_per_agent_round(std::uint32_t agents, int rounds, int work, int threads,
                               Index samples = samples_per_agent) {
  Simulator network = make_network(agents, samples, work, threads);
  network.advance();  // warm up
  return bench::best_seconds(7,
                             [&] {
                               for (int round = 0; round < rounds; ++round) network.advance();
                             }) /
         (static_cast<double>(agents) * rounds);
}

/// Heap bytes of a whole network after a few rounds, by the allocator's own count.
double heap_bytes_of_network(std::uint32_t agents) {
  const auto before = mallinfo2();
  Simulator network = make_network(agents, samples_per_agent, 1, 1);
  for (int round = 0; round < 3; ++round) network.advance();
  const auto after = mallinfo2();
  return static_cast<double>(after.uordblks + after.hblkhd) -
         static_cast<double>(before.uordblks + before.hblkhd);
}

}  // namespace

int main(int argc, char** argv) {
  const double small = seconds_per_agent_round(100, 200, 1, 1);
  const double large = seconds_per_agent_round(10'000, 2, 1, 1);
  const double bytes = heap_bytes_of_network(10'000);
  const double degree = 2 * static_cast<double>(random_graph(10'000).edges().size()) / 10'000;
  const double needed =
      10'000 * 8.0 *
      (samples_per_agent * (features + 1) + (2 + 2 * degree) * static_cast<double>(features));
  const double one_thread = seconds_per_agent_round(100, 10, 10, 1, 400);
  const double two_threads = seconds_per_agent_round(100, 10, 10, 2, 400);
  const double few_samples =
      seconds_per_agent_round(100, 100, 10, 1) / seconds_per_agent_round(100, 100, 10, 2);
  return bench::report(
      "simulator",
      {{"mean degree, 10,000 agents", degree, ""},
       {"time per agent-round, 100 agents (d = 22, 40 samples)", small * 1e6, "us"},
       {"time per agent-round, 10,000 agents", large * 1e6, "us"},
       {"10,000 agents over 100, per agent-round", large / small, "x", 1.5, false},
       {"heap per agent, 10,000 agents", bytes / 10'000, "B"},
       {"heap over data plus (2 + 2 degree) vectors", bytes / needed, "x", 2, false},
       {"two threads over one, 100 agents, E = 10, 40 samples", few_samples, "x", 1.7},
       {"two threads over one, 100 agents, E = 10, 400 samples", one_thread / two_threads, "x",
        1.7}},
      argc, argv);
}
