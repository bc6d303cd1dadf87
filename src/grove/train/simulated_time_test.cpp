// Simulated machines: what a run on them takes is counted, not measured.
#include <gtest/gtest.h>

#include "grove/train/run.h"

namespace grove {
namespace {

// Five agents on a ring with 40 samples of 5 features each; agent 2 is ten times slower.
Config unequal() {
  Config config;
  config.data = "synthetic:gaussian,samples=200,features=5";
  config.agents = 5;
  config.graph = "ring";
  config.l2 = 0.1;
  config.threads = 1;
  config.speeds = "1,1,0.1,1,1";
  config.latency = "0.001";
  return config;
}

RunRecord must_run(const Config& config) {
  const auto record = run(config);
  EXPECT_TRUE(record) << record.error().text();
  return record ? *record : RunRecord{};
}

std::string error_of(const Config& config) {
  const auto record = run(config);
  return record ? "" : record.error().text();
}

nlohmann::json essence(const RunRecord& record) {
  nlohmann::json json = to_json(record);
  json["config"].erase("threads");
  json["outcome"].erase("seconds");
  for (auto& row : json["trace"]) row.erase("seconds");
  return json;
}

// A round of PG-EXTRA: one gradient over the shard and a vector to each of two neighbours.
TEST(SimulatedTime, ALockStepRoundLastsAsLongAsItsSlowestAgentAndItsMessages) {
  Config config = unequal();
  config.method = Method::pg_extra;
  config.rounds = 6;
  const RunRecord record = must_run(config);
  const double d = 5;
  const double expected = (40 * 4 * d + 2 * 4 * d) / 0.1e9 + 0.001;
  EXPECT_EQ(record.trace[0].simulated_seconds, 0);
  for (std::size_t k = 2; k < record.trace.size(); ++k)
    EXPECT_NEAR(*record.trace[k].simulated_seconds - *record.trace[k - 1].simulated_seconds,
                expected, 1e-12);
  EXPECT_EQ(record.agents[2].speed, 0.1);
}

TEST(SimulatedTime, ARestingSlowAgentHoldsNobodyUp) {
  Config config = unequal();
  config.latency = "0";
  config.work = "1";
  config.penalty = 0.2;
  config.tolerance = 0;
  config.rounds = 40;
  config.participation = "1,1,0.3,1,1";
  const RunRecord record = must_run(config);
  std::size_t quick = 0, slow = 0;
  for (std::size_t k = 1; k < record.trace.size(); ++k) {
    const double seconds =
        *record.trace[k].simulated_seconds - *record.trace[k - 1].simulated_seconds;
    // One Newton step over 40 samples: 40 gradients and Hessians, a system, two vectors.
    const double step = (40 * 20 + 40 * 30 + 125.0 / 3 + 50 + 40) * 1e-9;
    // An agent's first activation evaluates its gradient at the start, too.
    const bool first = record.trace[k].active == 5 ? slow == 0 : quick + slow == 0;
    const double whole = step + (first ? 40 * 20 * 1e-9 : 0);
    EXPECT_NEAR(seconds, record.trace[k].active == 5 ? 10 * whole : whole, 1e-12);
    (record.trace[k].active == 5 ? slow : quick) += 1;
  }
  EXPECT_GT(quick, 0u);
  EXPECT_GT(slow, 0u);
}

TEST(SimulatedTime, MachinesDoNotChangeWhatLockStepComputes) {
  Config plain = unequal(), timed = unequal();
  plain.speeds = "";
  plain.latency = "";
  plain.work = timed.work = "3";
  const RunRecord without = must_run(plain), with = must_run(timed);
  EXPECT_EQ(without.solution, with.solution);
  EXPECT_EQ(without.outcome.rounds, with.outcome.rounds);
  const std::string text = to_json(without).dump();
  EXPECT_EQ(text.find("simulated_seconds"), text.npos);
  EXPECT_EQ(text.find("\"speed\""), text.npos);
}

TEST(SimulatedTime, TheSameRecordWithAnyNumberOfThreads) {
  Config config = unequal();
  config.latency = "uniform:0:0.001";
  config.speeds = "uniform:0.1:1";
  config.rounds = 20;
  Config threaded = config;
  threaded.threads = 3;
  EXPECT_EQ(essence(must_run(config)), essence(must_run(threaded)));
}

TEST(SimulatedTime, FreeRunningAgentsFindTheOptimumAndDoNotWaitForTheSlowOne) {
  Config config = unequal();
  config.link = LinkKind::edge;
  config.latency = "1e-6";
  config.rounds = 2000;
  config.tolerance = 1e-12;
  Config free = config;
  free.free_running = true;
  const RunRecord record = must_run(free);
  EXPECT_EQ(record.outcome.status, RunStatus::converged);
  EXPECT_LT(*record.trace.back().relative_error, 1e-10);
  const RunRecord stepped = must_run(config);
  EXPECT_LT(*record.trace[10].simulated_seconds, 0.5 * *stepped.trace[10].simulated_seconds);
  EXPECT_EQ(essence(record), essence(must_run(free)));
}

TEST(SimulatedTime, ARecordReadsBackExactly) {
  const RunRecord record = must_run(unequal());
  const auto back = record_from_json(to_json(record));
  ASSERT_TRUE(back);
  EXPECT_EQ(to_json(*back), to_json(record));
  EXPECT_EQ(back->trace.back().simulated_seconds, record.trace.back().simulated_seconds);
}

TEST(SimulatedTime, BadSettingsNameTheFlag) {
  Config config = unequal();
  config.speeds = "1,2";
  EXPECT_EQ(error_of(config).find("--speeds: "), 0u);
  config = unequal();
  config.latency = "soon";
  EXPECT_EQ(error_of(config).find("--latency: "), 0u);
  config = unequal();
  config.free_running = true;
  EXPECT_EQ(error_of(config).find("--free-running: "), 0u) << "needs edge links";
}

// The numbers: steps of 40 samples, 5 features and kept Hessians take (40 * 20 + 125/3 + 50) ns.
TEST(LocalStepsChoice, FastAgentsUseTheTimeOfTheirSlowNeighbours) {
  Config config = unequal();
  config.latency = "0";
  config.speeds = "1,1,0.25,1,1";
  const RunRecord record = must_run(config);
  std::vector<int> work;
  for (const AgentSummary& agent : record.agents) work.push_back(agent.work);
  EXPECT_EQ(work, (std::vector<int>{1, 4, 1, 4, 1}));  // neighbours of agent 2 only
  EXPECT_EQ(record.config.at("work"), "auto:1,4,1,4,1");
  EXPECT_NE(record.agents[1].work_reason.find("agent 2"), std::string::npos);
}

TEST(LocalStepsChoice, SlowLinksLeaveTimeForSteps) {
  Config config = unequal();
  config.speeds = "1";
  config.latency = "1";
  for (const AgentSummary& agent : must_run(config).agents) {
    EXPECT_EQ(agent.work, 10);
    EXPECT_NE(agent.work_reason.find("messages"), std::string::npos);
  }
  config.latency = "0";
  for (const AgentSummary& agent : must_run(config).agents) EXPECT_EQ(agent.work, 1);
}

// Free-running, agent 1 receives messages of agent 0 as often as it is active itself; agent 3 of 4
// likewise.
TEST(LocalStepsChoice, FreeRunningAgentsDoNotKeepQuickNeighboursWaiting) {
  Config config = unequal();
  config.link = LinkKind::edge;
  config.free_running = true;
  config.latency = "0";
  for (const AgentSummary& agent : must_run(config).agents) EXPECT_EQ(agent.work, 1);
  config.graph = "star";  // around agent 0
  config.speeds = "1,0.2,0.2,0.2,0.5";
  const RunRecord record = must_run(config);
  EXPECT_EQ(record.agents[0].work, 2);  // as the quickest neighbour, agent 4, has half its speed
  EXPECT_NE(record.agents[0].work_reason.find("agent 4"), std::string::npos);
}

TEST(LocalStepsChoice, GivenWorkIsKept) {
  Config config = unequal();
  config.work = "3";
  for (const AgentSummary& agent : must_run(config).agents) {
    EXPECT_EQ(agent.work, 3);
    EXPECT_EQ(agent.work_reason, "");
  }
}

}  // namespace
}  // namespace grove
