// Whole runs of tree-newton in the simulators: what auto chooses, masked sums, the certificate in
// the record.

#include <gtest/gtest.h>

#include "grove/record/record.h"
#include "grove/train/run.h"

namespace grove {
namespace {

Config small_run() {
  Config config;
  config.data = "synthetic:gaussian,samples=600,features=8";
  config.agents = 6;
  config.graph = "ring";
  config.l1 = 1e-3;
  config.l2 = 1e-3;
  config.method = Method::tree_newton;
  config.threads = 1;
  return config;
}

RunRecord record_of(const Config& config) {
  auto record = run(config);
  EXPECT_TRUE(record) << record.error().text();
  return record ? std::move(*record) : RunRecord{};
}

std::string method_of(const RunRecord& record) { return record.config.at("method"); }

TEST(AutomaticMethod, SumsOverATreeUpToThreeHundredCoefficients) {
  Config config = small_run();
  config.method = Method::automatic;
  config.rounds = 3;
  config.no_reference = true;
  const RunRecord small = record_of(config);
  EXPECT_EQ(method_of(small), "tree-newton");
  ASSERT_FALSE(small.notes.empty());
  EXPECT_NE(small.notes[0].find("8 coefficients; a Newton step takes 6 rounds"), std::string::npos)
      << small.notes[0];
  config.data = "synthetic:gaussian,samples=60,features=300";
  EXPECT_EQ(method_of(record_of(config)), "tree-newton");
  config.data = "synthetic:gaussian,samples=60,features=301";
  const RunRecord large = record_of(config);
  EXPECT_EQ(method_of(large), "druid-vl");
  EXPECT_NE(large.notes[0].find("301 coefficients is costly to sum"), std::string::npos);
}

TEST(AutomaticMethod, UsesLinksWhereTheirOptionsAreGiven) {
  Config config = small_run();
  config.method = Method::automatic;
  config.rounds = 3;
  config.no_reference = true;
  config.penalty = 0.1;
  EXPECT_EQ(method_of(record_of(config)), "druid-vl");
  config.penalty = {};
  config.sampling = SamplingKind::minibatch;
  EXPECT_EQ(method_of(record_of(config)), "druid-vl");
}

TEST(TreeNewtonRun, RecordsTheCertificateThatTheNetworkComputed) {
  Config config = small_run();
  config.tolerance = 0;  // until the round limit: the network has certified by then
  config.rounds = 200;
  const RunRecord record = record_of(config);
  ASSERT_TRUE(record.certificate);
  EXPECT_EQ(record.certificate->members, 6);
  EXPECT_EQ(record.certificate->rows, 600);
  EXPECT_NEAR(record.certificate->objective / 6, record.objective, 1e-13);
  EXPECT_LT(record.certificate->residual, 1e-10);
  EXPECT_LT(record.certificate->gap_estimate(), 1e-18);
  const auto back = record_from_json(to_json(record));
  ASSERT_TRUE(back && back->certificate);
  EXPECT_EQ(back->certificate->numbers(), record.certificate->numbers());
}

// The same rounds, at most 2.2 times the bytes, the same answer to 1e-12.
TEST(MaskedRun, TakesTheSameRoundsAndAtMostTwiceTheBytes) {
  for (const char* graph : {"ring", "star", "erdos-renyi:0.5"}) {
    Config config = small_run();
    config.graph = graph;
    config.rounds = 200;
    config.tolerance = 0;
    const RunRecord open = record_of(config);
    config.sums = SumsKind::masked;
    const RunRecord masked = record_of(config);
    EXPECT_EQ(rounds_to(open, 1e-16), rounds_to(masked, 1e-16)) << graph;
    EXPECT_LT((open.solution - masked.solution).norm(), 1e-12 * open.solution.norm()) << graph;
    EXPECT_LT(static_cast<double>(masked.trace.back().cost.bytes_sent),
              2.2 * static_cast<double>(open.trace.back().cost.bytes_sent))
        << graph;
    ASSERT_TRUE(masked.certificate);
    EXPECT_EQ(masked.certificate->rows, 600);
  }
}

TEST(MaskedRun, WorksWithoutRoundsAndWithFaults) {
  Config config = small_run();
  config.sums = SumsKind::masked;
  config.rounds = 3000;
  config.loss_rate = 0.2;
  config.delay = 3;
  config.participation = "0.5";
  RunRecord record = record_of(config);
  EXPECT_EQ(record.outcome.status, RunStatus::converged) << record.outcome.detail;
  config = small_run();
  config.sums = SumsKind::masked;
  config.free_running = true;
  record = record_of(config);
  EXPECT_EQ(record.outcome.status, RunStatus::converged) << record.outcome.detail;
}

TEST(MaskedRun, NeedsThreeAgentsAndAMethodThatSums) {
  Config config = small_run();
  config.sums = SumsKind::masked;
  config.agents = 2;
  config.graph = "complete";
  auto record = run(config);
  ASSERT_FALSE(record);
  EXPECT_EQ(record.error().text(),
            "--sums: masked hides nothing among 2 agents; expected --agents 3 or more");
  config = small_run();
  config.sums = SumsKind::masked;
  config.method = Method::druid_vl;
  record = run(config);
  ASSERT_FALSE(record);
  EXPECT_NE(record.error().text().find("--sums: masked needs --method tree-newton"),
            std::string::npos);
}

}  // namespace
}  // namespace grove
