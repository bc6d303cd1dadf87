// What a lock-step round of the default method costs beside the agents' own work, next to a bare
// neighbourhood exchange of the same bytes between the same processes, in the same run: one message
// per neighbour process and round in both. Started by bench/mpi/run.
#include <algorithm>
#include <cstdio>
#include <limits>
#include <thread>

#include <fmt/format.h>
#include <mpi.h>

#include "grove/methods/method.h"
#include "grove/network/topology.h"
#include "grove/problem/objective.h"
#include "grove/runtime/cluster.h"
#include "grove/runtime/mpi/cluster.h"
#include "grove/runtime/mpi/process_links.h"

namespace {

using namespace grove;

constexpr Index features = 22;
constexpr int rounds = 100;
constexpr int repetitions = 40;  ///< the quietest counts: noise only ever adds

/// One sample: next to no work of its own, and all of the bookkeeping.
std::unique_ptr<Agent> small_agent(AgentId id, const Graph& graph) {
  AgentContext context{
      .id = id,
      .objective = make_shard_objective(
          {DenseRows::Constant(1, features, 0.1), Vector::Constant(1, 1.0)}, {.l2 = 1e-3}),
      .regularizer = {.regularized = features},
      .network_size = graph.agents(),
      .start = Vector::Zero(features)};
  for (const AgentId neighbour : graph.neighbours(id)) context.neighbours.push_back({neighbour});
  return make_agent(default_druid(), std::move(context));
}

/// The same bytes between the same processes, and nothing else.
class BareExchange {
 public:
  BareExchange(const Graph& graph, int rank, int processes, int words_per_link)
      : links_(mpi::find_process_links(graph, rank, processes)) {
    const int degree = static_cast<int>(links_.neighbours.size());
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, links_.neighbours.data(), MPI_UNWEIGHTED,
                                   degree, links_.neighbours.data(), MPI_UNWEIGHTED, MPI_INFO_NULL,
                                   0, &comm_);
    for (std::size_t k = 0; k < links_.neighbours.size(); ++k) {
      const auto first = static_cast<int>(links_.outgoing.first[k]);
      const auto last = static_cast<int>(links_.outgoing.first[k + 1]);
      offsets_.push_back(words_per_link * first);
      counts_.push_back(words_per_link * (last - first));
    }
    out_.resize(links_.outgoing.links.size() * words_per_link);
    in_.resize(out_.size());
  }

  void play() {
    MPI_Neighbor_alltoallv(out_.data(), counts_.data(), offsets_.data(), MPI_DOUBLE, in_.data(),
                           counts_.data(), offsets_.data(), MPI_DOUBLE, comm_);
  }

 private:
  mpi::ProcessLinks links_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<int> counts_, offsets_;
  std::vector<double> out_, in_;
};

/// Seconds of local steps so far, where processes that share a core take turns at them.
double local_seconds(const Runtime& network) {
  const std::vector<ProcessReport> processes = network.reports();
  double total = 0;
  for (const ProcessReport& process : processes) total += process.compute_seconds;
  const auto cores = std::min<std::size_t>(processes.size(), std::thread::hardware_concurrency());
  return total / static_cast<double>(cores);
}

/// Words of 8 bytes on one link in a round of the running network, headers included.
int words_per_link(Runtime& network) {
  const auto sent = [&] {
    ProcessReport all;
    for (const ProcessReport& process : network.reports()) all.add(process);
    return all;
  };
  // Agents first publish their link weights, later only where their Hessians have changed.
  for (int k = 0; k < rounds; ++k) network.advance();
  const ProcessReport before = sent();
  for (int k = 0; k < rounds; ++k) network.advance();
  const ProcessReport after = sent();
  const std::uint64_t links = after.vectors_sent - before.vectors_sent;
  const std::uint64_t words = (after.bytes_sent - before.bytes_sent) / sizeof(double);
  return static_cast<int>((words + links - 1) / links);
}

template <class Play>
double seconds_per_round(const Play& play) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  for (int k = 0; k < rounds; ++k) play();
  MPI_Barrier(MPI_COMM_WORLD);
  return (MPI_Wtime() - began) / rounds;
}

int run(Cluster& cluster, std::uint32_t agents, const std::string& topology) {
  const auto graph = make_graph(topology, agents, 1);
  if (!graph) return std::fprintf(stderr, "%s\n", graph.error().text().c_str()), 2;
  std::vector<std::unique_ptr<Agent>> own;
  const AgentRange range = agents_of(agents, cluster.rank(), cluster.size());
  for (std::uint32_t i = range.first; i < range.last; ++i)
    own.push_back(small_agent(AgentId{i}, *graph));
  auto network =
      cluster.start(std::move(own), *graph,
                    Schedule(1, std::vector<double>(agents, 1.0), std::vector<int>(agents, 1)),
                    {.threads = 1, .seconds = [] { return MPI_Wtime(); }});
  const int words = words_per_link(*network);
  BareExchange bare(*graph, cluster.rank(), cluster.size(), words);

  // Alternating, so that what the machine does meanwhile falls on both.
  constexpr double never = std::numeric_limits<double>::infinity();
  double local = 0, beside = never, exchange = never, compute_before = local_seconds(*network);
  for (int k = 0; k < repetitions; ++k) {
    const double whole = seconds_per_round([&] { network->advance(); });
    const double compute = local_seconds(*network);
    const double steps = (compute - compute_before) / rounds;
    compute_before = compute;
    if (whole - steps < beside) local = steps, beside = whole - steps;
    exchange = std::min(exchange, seconds_per_round([&] { bare.play(); }));
  }
  if (cluster.rank() == 0)
    fmt::print("{:>5} {:>6} {:<12} {:>10} {:>9.2f} {:>9.2f} {:>9.2f} {:>7.2f}x  (at most 3x)\n",
               cluster.size(), agents, topology, 8 * words, 1e6 * local, 1e6 * beside,
               1e6 * exchange, beside / exchange);
  return 0;
}

}  // namespace

int main() {
  mpi::Session session;
  Cluster& cluster = session.cluster();
  if (cluster.rank() == 0)
    fmt::print("{:>5} {:>6} {:<12} {:>10} {:>9} {:>9} {:>9} {:>8}\n", "ranks", "agents", "graph",
               "bytes/link", "local/us", "other/us", "bare/us", "ratio");
  const auto ranks = static_cast<std::uint32_t>(cluster.size());
  int failed = run(cluster, ranks, "ring");
  failed |= run(cluster, ranks, "complete");
  failed |= run(cluster, 4 * ranks, "ring");
  return failed;
}
