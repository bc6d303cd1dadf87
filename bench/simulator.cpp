// Speed and scale of the simulator: time per agent-round and memory as the network grows a
// hundredfold, and what a second thread gives.
#include <malloc.h>

#include <set>

#include "grove/base/random.h"
#include "grove/run/instance.h"
#include "grove/run/method_setup.h"
#include "grove/runtime/simulator.h"
#include "support/table.h"

namespace {

using namespace grove;

constexpr Index features = 22;
constexpr Index samples_per_agent = 40;

/// A ring with random chords, mean degree 6: random, and connected for any number of agents, which
/// Erdos-Renyi graphs of that degree are not (about n e^-6 agents would stand alone).
Graph random_graph(std::uint32_t agents) {
  std::set<Edge> edges;
  const auto add = [&](std::uint32_t a, std::uint32_t b) {
    if (a != b) edges.insert({AgentId{std::min(a, b)}, AgentId{std::max(a, b)}});
  };
  for (std::uint32_t i = 0; i < agents; ++i) add(i, (i + 1) % agents);
  KeyedRandom random(RandomKey{.seed = 1, .purpose = Purpose::graph});
  while (edges.size() < 3 * std::size_t{agents})
    add(static_cast<std::uint32_t>(random.below(agents)),
        static_cast<std::uint32_t>(random.below(agents)));
  return *Graph::from_edges(agents, {edges.begin(), edges.end()}, "benchmark");
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
  const double degree = 6;
  const double needed =
      10'000 * 8.0 *
      (samples_per_agent * (features + 1) + (2 + 2 * degree) * static_cast<double>(features));
  const double one_thread = seconds_per_agent_round(100, 10, 10, 1, 400);
  const double two_threads = seconds_per_agent_round(100, 10, 10, 2, 400);
  return bench::report(
      "simulator",
      {{"time per agent-round, 100 agents (d = 22, 40 samples)", small * 1e6, "us"},
       {"time per agent-round, 10,000 agents", large * 1e6, "us"},
       {"10,000 agents over 100, per agent-round", large / small, "x", 1.5, false},
       {"heap per agent, 10,000 agents", bytes / 10'000, "B"},
       {"heap over data plus (2 + 2 degree) vectors", bytes / needed, "x", 2, false},
       {"two threads over one, 100 agents, E = 10, 400 samples", one_thread / two_threads, "x",
        1.7}},
      argc, argv);
}
