#include "grove/train/diagnosis.h"

#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "grove/network/topology.h"
#include "grove/train/run.h"

namespace grove {
namespace {

/// A run of 90 rounds over a ring of four whose two measures shrink by the given factors a round.
RunRecord shrinking(double stationarity, double consensus) {
  RunRecord record;
  record.outcome.status = RunStatus::round_limit;
  record.problem = {.agents = 4, .edges = 4, .lambda_max = 4, .lambda_2 = 2};
  record.agents.assign(4, AgentSummary{});
  record.solution = Vector{{3, 4}};  // norm 5
  for (Round round = 0; round <= 90; ++round)
    record.trace.push_back({.round = round,
                            .consensus_error = 5 * std::pow(consensus, round),
                            .stationarity = 2 * std::pow(stationarity, round)});
  return record;
}

Config with_fixed_penalty() {
  Config config;
  config.penalty = 0.1;
  return config;
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Explanation, NamesThePenaltyThatIsTooLargeOrTooSmall) {
  EXPECT_TRUE(
      mentions(explain_slowness(with_fixed_penalty(), shrinking(0.95, 0.9)), "smaller --penalty"));
  EXPECT_TRUE(
      mentions(explain_slowness(with_fixed_penalty(), shrinking(0.9, 0.95)), "larger --penalty"));
}

// The mean of iterates that leave a box is far from the copy that stays in it, for small penalties
// too.
TEST(Explanation, DoesNotSayWhichWayThePenaltyGoesBesideAConstraint) {
  Config config = with_fixed_penalty();
  config.constraint = {.low = 0, .high = 1};
  const std::string text = explain_slowness(config, shrinking(0.95, 0.9));
  EXPECT_TRUE(mentions(text, "larger or a smaller --penalty")) << text;
}

TEST(Explanation, AdvisesMoreLinksOnlyWhereThereCanBeMore) {
  Config config;
  config.penalty = LinkWeightForm{};
  RunRecord record = shrinking(0.9, 0.95);
  EXPECT_TRUE(mentions(explain_slowness(config, record), "more links"));
  record.problem.edges = 6;  // of four agents
  EXPECT_TRUE(mentions(explain_slowness(config, record), "more --rounds"));
  EXPECT_FALSE(mentions(explain_slowness(config, record), "more links"));
}

TEST(Explanation, NamesTheGraphWhereInformationTravelsSlowly) {
  RunRecord record = shrinking(0.9, 0.95);
  record.problem.lambda_2 = 0.01;
  EXPECT_TRUE(
      mentions(explain_slowness(with_fixed_penalty(), record), "slowly through this graph"));
}

TEST(Explanation, DoesNotBlameThePenaltyWhereWeightsArePublished) {
  Config config;
  config.penalty = LinkWeightForm{};
  EXPECT_TRUE(mentions(explain_slowness(config, shrinking(0.95, 0.9)), "badly conditioned"));
  const RunRecord apart = shrinking(0.9, 0.95);
  EXPECT_TRUE(mentions(explain_slowness(config, apart), "more --rounds"));
  config.partition = "label-skew:0.1";
  EXPECT_TRUE(mentions(explain_slowness(config, apart), "shards differ"));
}

TEST(Explanation, AdvisesAutoOnlyWhereItIsMoreThanANumber) {
  Config config = with_fixed_penalty();
  EXPECT_TRUE(mentions(explain_slowness(config, shrinking(0.9, 0.95)), "or auto"));
  config.method = Method::druid_gd;
  EXPECT_FALSE(mentions(explain_slowness(config, shrinking(0.9, 0.95)), "or auto"));
}

TEST(Explanation, NamesWhatTheSettingsThemselvesMakeSlow) {
  Config config = with_fixed_penalty();
  RunRecord record = shrinking(0.9, 0.95);
  config.delay = 50;
  EXPECT_TRUE(mentions(explain_slowness(config, record), "up to 50 rounds late"));
  config.loss_rate = 0.9;
  EXPECT_TRUE(mentions(explain_slowness(config, record), "90 % of the messages are lost"));
  for (AgentSummary& agent : record.agents) agent.participation = 0.001;
  EXPECT_TRUE(mentions(explain_slowness(config, record), "rest most of the time"));
  EXPECT_TRUE(mentions(explain_slowness(config, record), "rested in 99.9 %"));
}

TEST(Explanation, DoesNotPromiseProgressBelowRounding) {
  Config config = with_fixed_penalty();
  config.tolerance = 1e-18;
  EXPECT_TRUE(mentions(explain_slowness(config, shrinking(0.7, 0.7)), "only rounding is left"));
}

// After 90 rounds 0.9^90 is left; 0.9^r = 1e-6 has r = 131.1, so 42 more rounds are needed.
TEST(Explanation, ExtrapolatesThePace) {
  const std::string text = explain_slowness(with_fixed_penalty(), shrinking(0.9, 0.8));
  EXPECT_TRUE(mentions(text, "about 42 more")) << text;
}

TEST(Explanation, NamesTheNoiseFloorOfMiniBatches) {
  Config config = with_fixed_penalty();
  config.sampling = SamplingKind::minibatch;
  RunRecord record = shrinking(0.9, 0.8);
  for (std::size_t round = 20; round < record.trace.size(); ++round)
    record.trace[round].stationarity = 0.2 + 0.01 * std::sin(static_cast<double>(round));
  EXPECT_TRUE(mentions(explain_slowness(config, record), "noise floor"));
}

TEST(Explanation, SaysHowMuchAgentsRested) {
  RunRecord record = shrinking(0.95, 0.9);
  for (AgentSummary& agent : record.agents) agent.participation = 0.4;
  EXPECT_TRUE(mentions(explain_slowness(with_fixed_penalty(), record), "rested in 60 %"));
}

TEST(Explanation, OfAConvergedRunOnlyIfItWasSlow) {
  RunRecord record = shrinking(0.95, 0.9);
  record.outcome.status = RunStatus::converged;
  record.outcome.rounds = 90;
  EXPECT_EQ(explain_slowness(with_fixed_penalty(), record), "");
  record.outcome.rounds = 250;
  const std::string text = explain_slowness(with_fixed_penalty(), record);
  EXPECT_TRUE(mentions(text, "took 250 rounds: ")) << text;
  EXPECT_TRUE(mentions(text, "smaller --penalty")) << text;
}

TEST(Explanation, OfAnInterruptedRun) {
  RunRecord record = shrinking(0.95, 0.9);
  record.outcome.status = RunStatus::interrupted;
  EXPECT_TRUE(
      mentions(explain_slowness(with_fixed_penalty(), record), "not converged: agents agree"));
}

TEST(Explanation, OfAShortTraceHasACauseAndNoPace) {
  RunRecord record = shrinking(0.95, 0.9);
  record.trace = {record.trace.front(), record.trace.back()};
  const std::string text = explain_slowness(with_fixed_penalty(), record);
  EXPECT_TRUE(mentions(text, "smaller --penalty")) << text;
  EXPECT_FALSE(mentions(text, "pace")) << text;
}

TEST(Explanation, NamesGradientStepsAndHeavyProximalTerms) {
  RunRecord record = shrinking(0.95, 0.9);
  for (AgentSummary& agent : record.agents) agent.degree = 2, agent.prox = 5;  // links weigh 0.2
  Config config = with_fixed_penalty();
  EXPECT_TRUE(mentions(explain_slowness(config, record), "smaller --prox"));
  config.method = Method::druid_gd;
  EXPECT_TRUE(mentions(explain_slowness(config, record), "gradient steps"));
  config.penalty = 1e3;
  EXPECT_TRUE(mentions(explain_slowness(config, record), "smaller --penalty"));
  config.method = Method::pg_extra;
  config.step = 7;
  EXPECT_TRUE(mentions(explain_slowness(config, record), "gradient steps"));
  EXPECT_TRUE(mentions(explain_slowness(config, record, true), "step 7 is longer than is safe"));
}

TEST(Explanation, IsSilentWhereNothingWasWanted) {
  Config endless = with_fixed_penalty();
  endless.tolerance = 0;
  EXPECT_EQ(explain_slowness(endless, shrinking(0.95, 0.9)), "");
}

// The advice, taken from real runs: the penalty is a hundred times too large, or too small.
TEST(Explanation, OfARealRunPointsTowardsTheBetterPenalty) {
  Config config;
  config.data = "synthetic:gaussian,samples=200,features=5";
  config.agents = 5;
  config.graph = "complete";
  config.l2 = 0.1;
  config.rounds = 60;
  config.threads = 1;
  for (const auto& [penalty, advice] : {std::pair{20.0, "smaller"}, {0.0005, "larger"}}) {
    config.penalty = penalty;
    const auto record = run(config);
    ASSERT_TRUE(record);
    ASSERT_EQ(record->outcome.status, RunStatus::round_limit);
    ASSERT_FALSE(record->explanations.empty());
    EXPECT_TRUE(mentions(record->explanations.back(), advice)) << record->explanations.back();
  }
}

// A path of four; agent 2 has sent 5 messages, the others about 90.
TEST(Explanation, NamesANeighbourThatSendsHardlyAnyMessage) {
  const RunRecord record = shrinking(0.95, 0.9);
  const Graph path = *make_graph("path", 4, 1);
  const std::string text =
      explain_inactivity(record, path, std::vector<std::uint64_t>{90, 88, 5, 91});
  EXPECT_TRUE(mentions(text, "agent 2")) << text;
  EXPECT_TRUE(mentions(text, "waiting for it: 1, 3")) << text;
  EXPECT_EQ(explain_inactivity(record, path, std::vector<std::uint64_t>{90, 88, 30, 91}), "");
  EXPECT_EQ(explain_inactivity(record, path, {}), "");
  RunRecord converged = record;
  converged.outcome.status = RunStatus::converged;
  EXPECT_EQ(explain_inactivity(converged, path, std::vector<std::uint64_t>{90, 88, 5, 91}), "");
}

struct RealRun {
  std::string name;
  std::function<void(Config&)> change;
  std::string cause;
};

std::ostream& operator<<(std::ostream& out, const RealRun& real) { return out << real.name; }

/// Ten agents on the default graph, each run with one thing wrong.
std::vector<RealRun> real_runs() {
  return {
      {"Loss", [](Config& c) { c.link = LinkKind::edge, c.loss_rate = 0.9, c.rounds = 40; },
       "90 % of the messages are lost"},
      {"Delay", [](Config& c) { c.link = LinkKind::edge, c.delay = 50, c.rounds = 60; },
       "up to 50 rounds late"},
      {"Inactivity", [](Config& c) { c.participation = "0.02"; }, "rest most of the time"},
      {"DeadAgent", [](Config& c) { c.participation = "1,1,1,1,1,1,1,1e-9,1,1"; },
       "rarely active: agent 7"},
      {"SlowGraph", [](Config& c) { c.agents = 40, c.graph = "ring"; },
       "slowly through this graph"},
      {"SlowGraphThatConverged",
       [](Config& c) { c.agents = 40, c.graph = "ring", c.rounds = 2000, c.tolerance = 1e-5; },
       "slowly through this graph"},
      {"SmallPenalty", [](Config& c) { c.penalty = 1e-7; }, "larger --penalty"},
      {"LargePenalty", [](Config& c) { c.penalty = 10; }, "smaller --penalty"},
      {"HeavyProx", [](Config& c) { c.penalty = 1e-3, c.prox = ProxSpec(10.0); }, "smaller --prox"},
      {"GradientSteps", [](Config& c) { c.method = Method::druid_gd; }, "gradient steps"},
      {"Rounding",
       [](Config& c) {
         c.tolerance = 1e-18, c.rounds = 600, c.l2 = 0.01, c.agents = 20, c.graph = "ring";
       },
       "only rounding is left"},
      {"Noise",
       [](Config& c) {
         c.sampling = SamplingKind::minibatch, c.batch_gradient = 20, c.batch_hessian = 40;
         c.rounds = 300, c.l2 = 0.01, c.penalty = 0.01;
       },
       "noise floor"},
      {"OnlyEndsMeasured", [](Config& c) { c.penalty = 10, c.measure_every = 0; },
       "smaller --penalty"},
  };
}

class ExplanationOfARealRun : public testing::TestWithParam<RealRun> {};
INSTANTIATE_TEST_SUITE_P(Every, ExplanationOfARealRun, testing::ValuesIn(real_runs()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(ExplanationOfARealRun, NamesWhatIsWrongWithIt) {
  Config config;
  config.data = "synthetic:ijcnn-like,samples=600";
  config.rounds = 100;
  config.threads = 1;
  GetParam().change(config);
  const auto record = run(config);
  ASSERT_TRUE(record) << record.error().text();
  ASSERT_FALSE(record->explanations.empty());
  EXPECT_TRUE(mentions(record->explanations.front(), GetParam().cause))
      << record->explanations.front();
}

TEST(Explanation, NamesTheDeadNeighbourOfARun) {
  Config config;
  config.data = "synthetic:gaussian,samples=200,features=5";
  config.agents = 5;
  config.graph = "ring";
  config.participation = "1,1,1,0.001,1";
  config.rounds = 60;
  const auto record = run(config);
  ASSERT_TRUE(record);
  ASSERT_FALSE(record->explanations.empty());
  EXPECT_TRUE(mentions(record->explanations.front(), "rarely active: agent 3"))
      << record->explanations.front();
  EXPECT_TRUE(mentions(record->explanations.front(), "waiting for it: 2, 4"));
}

TEST(Explanation, ReportsTheActionsOfSafeguards) {
  RunRecord record = shrinking(0.95, 0.9);
  EXPECT_EQ(explain_events(record.events), "");
  record.events = {{10, 7, "raised", "stalled"}, {30, 7, "raised", "stalled"}};
  const std::string text = explain_events(record.events);
  EXPECT_TRUE(mentions(text, "agent 7")) << text;
  EXPECT_TRUE(mentions(text, "2 times")) << text;
  const auto back = record_from_json(to_json(record));
  ASSERT_TRUE(back);
  EXPECT_EQ(to_json(*back), to_json(record));
}

}  // namespace
}  // namespace grove
