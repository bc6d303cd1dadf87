#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include <mpi.h>

#include "grove/network/topology.h"
#include "grove/runtime/mpi/process_links.h"
#include "grove/train/run.h"
#include "main.h"

namespace grove {
namespace {

/// MPI messages that this process has sent, by destination process. The functions below count them:
/// by the profiling interface of MPI, a program may define its own MPI_X that calls PMPI_X.
std::map<int, std::uint64_t> messages_sent_to;

/// Of ordered sums. How many of them a certificate takes depends on the answer.
constexpr int sum_tag = 0;

}  // namespace
}  // namespace grove

extern "C" int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag,
                        MPI_Comm comm) {
  if (tag != grove::sum_tag) ++grove::messages_sent_to[to];
  return PMPI_Send(data, count, type, to, tag, comm);
}

extern "C" int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag,
                         MPI_Comm comm, MPI_Request* request) {
  ++grove::messages_sent_to[to];
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

extern "C" int MPI_Issend(const void* data, int count, MPI_Datatype type, int to, int tag,
                          MPI_Comm comm, MPI_Request* request) {
  ++grove::messages_sent_to[to];
  return PMPI_Issend(data, count, type, to, tag, comm, request);
}

// The simulator is the oracle: an MPI run of the same config must give the same record, bit for
// bit, on however many processes. Exact because JSON numbers read back exactly.
namespace grove {
namespace {

using testing_support::the_cluster;

struct Case {
  std::string name;
  std::function<void(Config&)> change;
};

std::ostream& operator<<(std::ostream& out, const Case& given) { return out << given.name; }

Config small_config() {
  Config config;
  config.data = "synthetic:ijcnn-like,samples=300";
  config.agents = 10;
  config.agents_given = true;
  config.rounds = 12;
  config.tolerance = 0;
  config.keep_estimates = true;
  config.threads = 1;
  return config;
}

/// What must not depend on where a run takes place.
nlohmann::json essence(const RunRecord& record) {
  nlohmann::json json = to_json(record);
  json.erase("ranks");
  json["config"].erase("runtime");
  json["outcome"].erase("seconds");
  for (auto& row : json["trace"]) row.erase("seconds");
  return json;
}

Result<RunRecord> run_on_cluster(Config config) {
  config.runtime = RuntimeKind::mpi;
  return run(config, {}, &the_cluster());
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Method& method : built_in_methods()) {
    const std::string& name = method.name();
    std::string label = name;
    std::ranges::replace(label, '-', '_');
    all.push_back({label, [method](Config& c) { c.method = method; }});
    all.push_back({label + "_with_l1", [method](Config& c) { c.method = method, c.l1 = 1e-3; }});
    if (method.traits().needs_everyone) continue;
    all.push_back({label + "_partial", [method](Config& c) {
                     c.method = method, c.participation = "0.5", c.work = "uniform:1:4";
                   }});
  }
  all.push_back({"edge_links_with_loss_and_delay", [](Config& c) {
                   c.link = LinkKind::edge, c.loss_rate = 0.2, c.delay = 3, c.participation = "0.7";
                 }});
  all.push_back({"minibatches_on_two_threads", [](Config& c) {
                   c.sampling = SamplingKind::minibatch, c.batch_gradient = 10;
                   c.batch_hessian = 15, c.threads = 2;
                 }});
  all.push_back({"linearized_with_intercept_and_unequal_shards", [](Config& c) {
                   c.local_model = LocalModelKind::linearized, c.intercept = true;
                   c.partition = "size-skew:0.5", c.weighting = Weighting::sample;
                 }});
  all.push_back({"sparse_weights", [](Config& c) {
                   c.l1 = 1e-3;
                   c.penalty = LinkWeightForm{LinkWeightShape::sparse};
                 }});
  all.push_back({"measured_every_fifth_round", [](Config& c) { c.measure_every = 5; }});
  all.push_back({"measured_at_start_and_end", [](Config& c) { c.measure_every = 0; }});
  all.push_back({"ring_until_converged", [](Config& c) {
                   c.graph = "ring", c.tolerance = 1e-2, c.rounds = 400, c.l2 = 0.1;
                   c.penalty = 0.05;
                 }});
  all.push_back({"star_of_regressions", [](Config& c) {
                   c.data = "synthetic:gaussian,samples=200,features=6", c.graph = "star";
                   c.loss = SquaredLoss{};
                 }});
  return all;
}

class LockStep : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Every, LockStep, testing::ValuesIn(cases()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(LockStep, GivesTheRecordOfTheSimulatorBitForBit) {
  Config config = small_config();
  GetParam().change(config);
  const auto simulated = run(config);
  const auto parallel = run_on_cluster(config);
  ASSERT_TRUE(simulated) << simulated.error().text();
  ASSERT_TRUE(parallel) << parallel.error().text();
  EXPECT_EQ(essence(*parallel), essence(*simulated));
}

/// A file of two cliques of ten joined by one link, for this process alone.
std::string narrow_graph() {
  const auto file = std::filesystem::path(testing::TempDir()) /
                    ("grove-narrow-" + std::to_string(the_cluster().rank()) + ".txt");
  std::ofstream edges(file);
  edges << "9 10\n";
  for (const int first : {0, 10})
    for (int i = first; i < first + 10; ++i)
      for (int j = i + 1; j < first + 10; ++j) edges << i << ' ' << j << '\n';
  return file.string();
}

TEST(LockStepRecord, ContainsTheSafeguardEventsOfAgentsOfOtherProcesses) {
  Config config = small_config();
  config.agents = 20;
  config.graph = narrow_graph();
  config.rounds = 80;
  const auto simulated = run(config);
  const auto parallel = run_on_cluster(config);
  ASSERT_TRUE(simulated) << simulated.error().text();
  ASSERT_TRUE(parallel) << parallel.error().text();
  EXPECT_FALSE(parallel->events.empty());
  EXPECT_FALSE(parallel->explanations.empty());
  EXPECT_EQ(essence(*parallel), essence(*simulated));
}

TEST(LockStepRecord, NamesAgentsOfOtherProcessesThatAreSeldomActive) {
  Config config = small_config();
  config.rounds = 40;
  config.participation = "1,1,1,1,1,1,1,1,1,0.001";
  const auto simulated = run(config);
  const auto parallel = run_on_cluster(config);
  ASSERT_TRUE(simulated) << simulated.error().text();
  ASSERT_TRUE(parallel) << parallel.error().text();
  ASSERT_FALSE(parallel->explanations.empty());
  EXPECT_NE(parallel->explanations[0].find("rarely active: agent 9"), std::string::npos);
  EXPECT_EQ(essence(*parallel), essence(*simulated));
}

constexpr std::uint64_t header_bytes = 24;  ///< of an agent's message between processes

TEST(LockStepRecord, CountsTheBytesOnTheWire) {
  Config config = small_config();
  config.graph = "complete";
  config.penalty = 1e-3;  // without published weights a message is one vector
  const auto record = run_on_cluster(config);
  ASSERT_TRUE(record) << record.error().text();
  const auto processes = static_cast<std::size_t>(the_cluster().size());
  ASSERT_EQ(record->processes.size(), processes);
  const std::uint64_t dimension = record->problem.features;
  std::uint64_t inside = 0, crossing = 0;
  for (const ProcessReport& process : record->processes) {
    // All agents send to all others; to those of the same process, in memory.
    EXPECT_EQ(process.vectors_sent, config.rounds * process.agents * (10 - process.agents));
    EXPECT_EQ(process.bytes_sent, process.vectors_sent * (header_bytes + 8 * dimension));
    EXPECT_EQ(process.activations, config.rounds * process.agents);
    inside += config.rounds * process.agents * (process.agents - 1);
    crossing += process.vectors_sent;
  }
  EXPECT_EQ(record->trace.back().cost.vectors_sent, inside + crossing);
  EXPECT_EQ(record->trace.back().cost.bytes_sent, (inside + crossing) * 8 * dimension);
}

/// MPI messages that this process sends to each process in a run of the default method.
std::map<int, std::uint64_t> messages_in_run(Config config, Round rounds) {
  config.rounds = rounds;
  config.measure_every = 0;  // measuring sends messages of its own
  messages_sent_to.clear();
  const auto record = run_on_cluster(config);
  EXPECT_TRUE(record) << record.error().text();
  if (!record) return messages_sent_to;
  EXPECT_EQ(record->trace.back().round, rounds);
  if (the_cluster().size() > 1) {  // the default method publishes weights, on top of d numbers
    const ProcessReport& own = record->processes[static_cast<std::size_t>(the_cluster().rank())];
    EXPECT_GT(own.bytes_sent,
              own.vectors_sent * (header_bytes + sizeof(HopCounts) + 8 * record->problem.features));
  }
  return messages_sent_to;
}

TEST(LockStepMessages, AreOnePerNeighbourProcessAndRoundForTheDefaultMethod) {
  const int rank = the_cluster().rank(), processes = the_cluster().size();
  Config config = small_config();
  for (const std::string name : {"complete", "ring"}) {
    config.graph = name;
    const auto graph = make_graph(name, config.agents, config.seed);
    ASSERT_TRUE(graph);
    const auto neighbours = mpi::find_process_links(*graph, rank, processes).neighbours;
    // Setup and measurements send as many messages in both runs.
    constexpr Round rounds = 5, more_rounds = 16;
    auto fewer = messages_in_run(config, rounds), more = messages_in_run(config, more_rounds);
    for (int other = 0; other < processes; ++other) {
      const bool is_neighbour = std::ranges::binary_search(neighbours, other);
      EXPECT_EQ(more[other] - fewer[other], is_neighbour ? more_rounds - rounds : 0)
          << name << ", from process " << rank << " to " << other;
    }
  }
}

TEST(LockStepRecord, HasOneAgentPerProcessByDefault) {
  Config config = small_config();
  config.agents_given = false;
  config.graph = "complete";
  const auto record = run_on_cluster(config);
  ASSERT_TRUE(record) << record.error().text();
  EXPECT_EQ(record->problem.agents, static_cast<std::uint64_t>(the_cluster().size()));
}

TEST(LockStepErrors, AreTheSameAtEveryProcess) {
  Config config = small_config();
  // Only the last process fails.
  if (the_cluster().rank() == the_cluster().size() - 1) config.data = "no-such-file.svm";
  const auto record = run_on_cluster(config);
  ASSERT_FALSE(record);
  EXPECT_NE(record.error().text().find("no-such-file.svm"), std::string::npos)
      << record.error().text();
}

TEST(LockStepErrors, RefuseFewerAgentsThanProcesses) {
  Config config = small_config();
  config.agents = 1;
  const auto record = run_on_cluster(config);
  if (the_cluster().size() == 1) return;
  ASSERT_FALSE(record);
  EXPECT_EQ(record.error().where, "--agents");
}

}  // namespace
}  // namespace grove
