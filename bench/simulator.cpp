// Speed and scale of the simulator: time per agent-round and memory as the network grows a
// hundredfold, and what a second thread gives.
#include <malloc.h>

#include <numeric>
#include <set>

#include "grove/base/random.h"
#include "grove/runtime/simulator.h"
#include "grove/setup/instance.h"
#include "grove/setup/method_setup.h"
#include "support/table.h"

namespace {

using namespace grove;

constexpr Index features = 22;
constexpr Index samples_per_agent = 40;

constexpr double mean_degree = 6;

/// An Erdos-Renyi graph of that degree: links between pairs drawn at random. About n e^-6
/// agents stand alone in it, or in small groups: one link joins each of those to a random agent of
/// the others.
Graph random_graph(std::uint32_t agents) {
  std::set<Edge> edges;
  std::vector<std::uint32_t> group(agents);  // by agent: one of the same group, at last the first
  std::iota(group.begin(), group.end(), 0u);
  const auto first_of = [&](std::uint32_t i) {
    while (group[i] != i) i = group[i] = group[group[i]];
    return i;
  };
  const auto add = [&](std::uint32_t a, std::uint32_t b) {
    if (a == b) return;
    edges.insert({AgentId{std::min(a, b)}, AgentId{std::max(a, b)}});
    group[std::max(first_of(a), first_of(b))] = std::min(first_of(a), first_of(b));
  };
  KeyedRandom random(RandomKey{.seed = 1, .purpose = Purpose::graph});
  const auto any = [&] { return static_cast<std::uint32_t>(random.below(agents)); };
  while (static_cast<double>(edges.size()) < mean_degree / 2 * agents) add(any(), any());
  for (std::uint32_t i = 1; i < agents; ++i)
    while (first_of(i) != first_of(0))
      if (const std::uint32_t j = any(); first_of(j) != first_of(i)) add(i, j);
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

/// Networks are of the paper's method, or of what `grove train` does by default.
struct Setting {
  std::uint32_t agents = 100;
  bool by_default = false;
  int work = 1;
  int threads = 1;
  Index samples = samples_per_agent;
};

Simulator make_network(const Setting& setting) {
  const std::uint32_t agents = setting.agents;
  const MethodOptions options =
      setting.by_default ? MethodOptions(default_druid())
                         : MethodOptions(DruidOptions{.coupling = {.weighting = FixedPenalty{1e-2}},
                                                      .prox = 2e-2,
                                                      .theta_penalty = 2e-2});
  const Graph graph = random_graph(agents);
  std::vector<std::unique_ptr<Agent>> all;
  for (std::uint32_t i = 0; i < agents; ++i) {
    AgentContext context{
        .id = AgentId{i},
        .objective = make_shard_objective(random_samples(i, setting.samples), {.l2 = 1e-3}),
        .regularizer = {.l1 = i == 0 || setting.by_default ? 1e-4 : 0, .regularized = features},
        .network_size = agents,
        .start = Vector::Zero(features)};
    for (AgentId neighbour : graph.neighbours(AgentId{i}))
      context.neighbours.push_back({neighbour});
    all.push_back(make_agent(options, std::move(context)));
  }
  return Simulator(
      std::move(all), graph,
      Schedule(1, std::vector<double>(agents, 1.0), std::vector<int>(agents, setting.work)),
      {.seed = 1, .threads = setting.threads});
}

double seconds_per_agent_round(const Setting& setting, int rounds) {
  Simulator network = make_network(setting);
  for (int round = 0; round < 3; ++round) network.advance();  // warm up, and get to know each other
  return bench::best_seconds(7,
                             [&] {
                               for (int round = 0; round < rounds; ++round) network.advance();
                             }) /
         (static_cast<double>(setting.agents) * rounds);
}

/// By default agents work less as they converge: the same rounds of both networks are compared.
double default_seconds_per_agent_round(std::uint32_t agents) {
  return seconds_per_agent_round({.agents = agents, .by_default = true, .work = 5}, 2);
}

double gain_of_two_threads(Index samples) {
  const Setting one{.work = 10, .samples = samples};
  Setting two = one;
  two.threads = 2;
  return seconds_per_agent_round(one, 10) / seconds_per_agent_round(two, 10);
}

/// Heap bytes per agent of a network of 10,000 after a few rounds, by the allocator's own count.
double heap_bytes_per_agent(bool by_default) {
  const auto before = mallinfo2();
  Simulator network = make_network({.agents = 10'000, .by_default = by_default});
  for (int round = 0; round < 3; ++round) network.advance();
  const auto after = mallinfo2();
  return (static_cast<double>(after.uordblks + after.hblkhd) -
          static_cast<double>(before.uordblks + before.hblkhd)) /
         10'000;
}

}  // namespace

int main(int argc, char** argv) {
  const double small = seconds_per_agent_round({.agents = 100}, 200);
  const double large = seconds_per_agent_round({.agents = 10'000}, 2);
  const double default_small = default_seconds_per_agent_round(100);
  const double default_large = default_seconds_per_agent_round(10'000);
  const double bytes = heap_bytes_per_agent(/*by_default=*/false);
  const double needed = 8.0 * (samples_per_agent * (features + 1) +
                               (2 + 2 * mean_degree) * static_cast<double>(features));
  return bench::report(
      "simulator",
      {{"time per agent-round, 100 agents (d = 22, 40 samples)", small * 1e6, "us"},
       {"time per agent-round, 10,000 agents", large * 1e6, "us"},
       {"10,000 agents over 100, per agent-round", large / small, "x", 1.5, false},
       {"heap per agent, 10,000 agents", bytes, "B"},
       {"heap over data plus (2 + 2 degree) vectors", bytes / needed, "x", 2, false},
       {"two threads over one, 100 agents, E = 10, 40 samples",
        gain_of_two_threads(samples_per_agent), "x", 1.7},
       {"two threads over one, 100 agents, E = 10, 400 samples", gain_of_two_threads(400), "x",
        1.7},
       {"default method, time per agent-round, 100 agents", default_small * 1e6, "us"},
       {"default method, time per agent-round, 10,000 agents", default_large * 1e6, "us"},
       {"default method, 10,000 agents over 100, per agent-round", default_large / default_small,
        "x", 1.5, false},
       {"default method, heap per agent, 10,000 agents", heap_bytes_per_agent(/*by_default=*/true),
        "B"}},
      argc, argv);
}
