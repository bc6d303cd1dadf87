#include "grove/train/run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace grove {
namespace {

/// Small, quick and well conditioned.
Config small() {
  Config config;
  config.data = "synthetic:gaussian,samples=200,features=5";
  config.agents = 5;
  config.graph = "ring";
  config.l2 = 0.1;
  config.penalty = 0.2;
  config.threads = 1;
  return config;
}

RunRecord must_run(const Config& config, const RunHooks& hooks = {}) {
  const auto record = run(config, hooks);
  EXPECT_TRUE(record) << record.error().text();
  return record ? *record : RunRecord{};
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The gap is to the centralized optimum, which the stopping rule does not look at.
TEST(Run, StopsWhenTheGapIsCertified) {
  Config config = small();
  for (const double tolerance : {1e-3, 1e-6, 1e-12}) {
    config.tolerance = tolerance;
    const RunRecord record = must_run(config);
    EXPECT_EQ(record.outcome.status, RunStatus::converged) << tolerance;
    const double optimum = record.reference->objective;
    EXPECT_LE(*record.trace.back().objective_gap, tolerance * optimum + 1e-15);
    EXPECT_LE(*record.trace.back().worst_gap, 4 * tolerance * optimum + 1e-15);
    ASSERT_TRUE(record.outcome.gap_bound);
    EXPECT_LE(*record.outcome.gap_bound, tolerance);
    EXPECT_GE(*record.outcome.gap_bound * optimum, *record.trace.back().objective_gap - 1e-15);
    EXPECT_EQ(record.outcome.rounds, record.trace.back().round);
    config.no_reference = true;
    EXPECT_EQ(must_run(config).outcome.gap_bound, record.outcome.gap_bound);
    config.no_reference = false;
  }
}

TEST(Run, WithToleranceZeroGoesToTheRoundLimit) {
  Config config = small();
  config.tolerance = 0;
  config.rounds = 40;
  const RunRecord record = must_run(config);
  EXPECT_EQ(record.outcome.status, RunStatus::round_limit);
  EXPECT_EQ(record.outcome.rounds, 40u);
  ASSERT_EQ(record.trace.size(), 41u);
  for (Round round = 0; round <= 40; ++round) EXPECT_EQ(record.trace[round].round, round);
  EXPECT_EQ(record.trace[0].relative_error, 1);
  EXPECT_EQ(record.trace[0].active, 0u);
  EXPECT_EQ(record.trace[1].active, 5u);
}

TEST(Run, ZeroRoundsGiveTheStart) {
  Config config = small();
  config.rounds = 0;
  const RunRecord record = must_run(config);
  EXPECT_EQ(record.trace.size(), 1u);
  EXPECT_EQ(record.solution.norm(), 0);
  EXPECT_NEAR(record.objective, std::log(2.0), 1e-15);  // the logistic loss at margin 0
}

TEST(Run, MeasuresEveryFewRoundsAndTheLast) {
  Config config = small();
  config.tolerance = 0;
  config.rounds = 10;
  config.measure_every = 4;
  std::vector<Round> rounds;
  for (const TracePoint& point : must_run(config).trace) rounds.push_back(point.round);
  EXPECT_EQ(rounds, (std::vector<Round>{0, 4, 8, 10}));
}

TEST(Run, AnInterruptEndsItWithWhatWasDone) {
  Config config = small();
  config.measure_every = 4;
  int asked = 0;
  RunHooks hooks;
  hooks.interrupted = [&] { return ++asked > 7; };
  const RunRecord record = must_run(config, hooks);
  EXPECT_EQ(record.outcome.status, RunStatus::interrupted);
  EXPECT_EQ(record.outcome.rounds, 7u);
  EXPECT_EQ(record.trace.back().round, 7u) << "the record ends where the run did";
}

TEST(Run, ReportsEveryMeasuredRoundAndTimesOnlyTheWork) {
  Config config = small();
  config.tolerance = 0;
  config.rounds = 5;
  double now = 0;
  std::size_t reported = 0;
  RunHooks hooks;
  hooks.seconds = [&] { return now += 1; };  // every look at the clock takes a second
  hooks.measured = [&](const TracePoint& point) { EXPECT_EQ(point.round, reported++); };
  const RunRecord record = must_run(config, hooks);
  EXPECT_EQ(reported, 6u);
  EXPECT_EQ(record.trace[0].seconds, 0);
  EXPECT_EQ(record.trace[5].seconds, 5);  // two looks a round, one second apart
  EXPECT_EQ(record.outcome.seconds, 11);  // all looks between the first and the last
}

TEST(Run, WithoutReferenceNothingIsComparedWithIt) {
  Config config = small();
  config.no_reference = true;
  const RunRecord record = must_run(config);
  EXPECT_FALSE(record.reference);
  EXPECT_FALSE(record.trace[1].relative_error);
  EXPECT_EQ(record.outcome.status, RunStatus::converged);
}

TEST(Run, KeepsEstimatesOnlyWhenAsked) {
  Config config = small();
  EXPECT_TRUE(must_run(config).estimates.empty());
  config.keep_estimates = true;
  EXPECT_EQ(must_run(config).estimates.size(), 5u);
}

TEST(Run, RecordsEveryOptionAsResolved) {
  const auto resolved = must_run(small()).config;
  EXPECT_EQ(resolved["theta-penalty"], 0.4);
  EXPECT_EQ(resolved["prox"], 0.4);
  EXPECT_EQ(resolved["agents"], 5);
  EXPECT_EQ(resolved["samples"], 200);
  EXPECT_EQ(resolved["work"], "5") << "auto, with a fixed penalty";
  Config config = small();
  config.method = Method::nids;
  EXPECT_GT(must_run(config).config["step"].get<double>(), 0);
  config.method = Method::druid_gd;  // by default eps_i is the smoothness constant of each shard
  const RunRecord gradient = must_run(config);
  std::string constants;
  for (const AgentSummary& agent : gradient.agents)
    constants += (constants.empty() ? "" : ",") + fmt::format("{}", *agent.prox);
  EXPECT_EQ(gradient.config["prox"], constants);
  config = small();
  config.penalty = PenaltySpec();
  const auto by_default = must_run(config).config;
  EXPECT_EQ(by_default["penalty"], "full");
  EXPECT_EQ(by_default["prox"], 0);
  EXPECT_EQ(by_default["work"], "auto") << "each agent decides when to stop its steps";
  config.work = "uniform:1:9";
  const RunRecord listed = must_run(config);
  std::string loads;
  for (const AgentSummary& agent : listed.agents)
    loads += (loads.empty() ? "" : ",") + std::to_string(agent.work);
  EXPECT_EQ(listed.config["work"], loads);
}

// Every agent applies its share of r: the answer has the zeros that most agents have, everything
// in the record is about that point, and it is no agent's own.
TEST(Run, ByDefaultTheSolutionIsWhatTheAgentsHaveInCommon) {
  Config config = small();
  config.penalty = PenaltySpec();
  config.l1 = 0.05;
  config.keep_estimates = true;
  const RunRecord record = must_run(config);
  EXPECT_EQ(record.outcome.status, RunStatus::converged);
  ASSERT_TRUE(record.reference);
  const Vector& optimum = record.reference->solution;
  ASSERT_GT((optimum.array() == 0).count(), 0);
  ASSERT_GT((optimum.array() != 0).count(), 0);
  Vector mean = Vector::Zero(optimum.size());
  for (const Vector& x : record.estimates) mean += x / 5;
  for (Index k = 0; k < optimum.size(); ++k) {
    EXPECT_EQ(record.solution[k] == 0, optimum[k] == 0) << k;
    EXPECT_NEAR(record.solution[k], mean[k], 1e-6);
  }
  EXPECT_NE(record.solution, record.estimates[0]);
  EXPECT_EQ(record.nonzeros, static_cast<std::uint64_t>((optimum.array() != 0).count()));
  EXPECT_EQ(record.objective, record.trace.back().objective);
}

// Ages, incomes and an intercept: what matters is not how large a column's numbers are. Every round
// is the same but for its units; how many --tolerance asks for may differ, as |x| has them.
TEST(Run, ByDefaultGoesTheSameWayWhateverTheUnitsBesideAnIntercept) {
  Config config;
  config.intercept = true;
  std::vector<std::vector<TracePoint>> traces;
  for (const char* scale : {"1", "1e-3", "1e3"}) {
    config.data = std::string("synthetic:gaussian,features=5,samples=500,scale=") + scale;
    const auto record = run(config);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->outcome.status, RunStatus::converged) << scale;
    traces.push_back(record->trace);
  }
  ASSERT_GT(traces[0].size(), 10u);
  for (std::size_t k = 0; k <= 10; ++k)
    for (const auto& trace : traces)
      EXPECT_NEAR(*trace.at(k).objective_gap, *traces[0][k].objective_gap,
                  1e-3 * *traces[0][k].objective_gap)
          << k;
}

// A rule that moves the whole dual while only one end is active diverges here.
TEST(Run, WithAFixedPenaltyConvergesUnderUnequalParticipation) {
  Config config;
  config.data = "synthetic:ijcnn-like,samples=2000";
  config.l2 = 1e-3;
  config.penalty = 1e-2;
  config.participation = std::string("1,0.1,1,0.1,1,0.1,1,0.1,1,0.1");
  config.rounds = 3000;
  EXPECT_EQ(must_run(config).outcome.status, RunStatus::converged);
}

TEST(Run, BatchesLargerThanAShardAreClampedWithANote) {
  Config config = small();
  config.sampling = SamplingKind::minibatch;
  config.batch_hessian = 30;
  const RunRecord record = must_run(config);
  ASSERT_EQ(record.notes.size(), 1u);
  EXPECT_TRUE(mentions(record.notes[0], "--batch-gradient 100")) << record.notes[0];
  EXPECT_TRUE(mentions(record.notes[0], "40 samples")) << record.notes[0];
}

std::string diagnosis_of(const Config& config) {
  const RunRecord record = must_run(config);
  EXPECT_EQ(record.outcome.status, RunStatus::diverged) << record.outcome.detail;
  EXPECT_TRUE(mentions(record.outcome.detail, "diverged in round"));
  EXPECT_LT(record.outcome.rounds, config.rounds);
  return record.outcome.detail;
}

TEST(Divergence, OfAGradientMethodIsBlamedOnItsStep) {
  for (const Method method : {Method::pg_extra, Method::p2d2, Method::nids}) {
    Config config = small();
    config.loss = SquaredLoss{};
    config.method = method;
    config.step = 50;
    EXPECT_TRUE(mentions(diagnosis_of(config), "--step")) << method.name();
  }
}

TEST(Divergence, OfDruidGdIsBlamedOnItsProx) {
  Config config = small();
  config.loss = SquaredLoss{};
  config.method = Method::druid_gd;
  config.prox = 0;
  config.penalty = 0.01;
  EXPECT_TRUE(mentions(diagnosis_of(config), "larger --prox"));
}

// Squared loss with a tiny Hessian and many exact local steps: beyond the bound of the
// linearized model, which is warned of before and named after.
TEST(Divergence, OfTheLinearizedModelIsBlamedOnItsBound) {
  Config config = small();
  config.loss = SquaredLoss{};
  config.l2 = 0;
  config.l1 = 1e-3;
  config.penalty = 100;
  config.prox = 1;
  config.work = "200";
  config.local_model = LocalModelKind::linearized;
  const RunRecord record = must_run(config);
  ASSERT_EQ(record.notes.size(), 1u);
  EXPECT_TRUE(mentions(record.notes[0], "--prox")) << record.notes[0];
  EXPECT_TRUE(mentions(diagnosis_of(config), "--local-model augmented"));
}

TEST(Divergence, OfTinyBatchesIsBlamedOnThem) {
  Config config = small();
  config.l2 = 0;
  config.penalty = 1e-7;
  config.sampling = SamplingKind::minibatch;
  config.batch_gradient = config.batch_hessian = 2;
  EXPECT_TRUE(mentions(diagnosis_of(config), "--batch-gradient"));
}

TEST(Run, BadInputNamesTheFlag) {
  Config config = small();
  config.loss_rate = 0.5;
  const auto refused = run(config);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "--loss-rate");
  config = small();
  config.agents = 300;
  const auto crowded = run(config);
  ASSERT_FALSE(crowded);
  EXPECT_EQ(crowded.error().where, "--agents");
}

// 30 agents that all have links to all others: 435 links, of which eight an agent are 120. Both
// runs have the same optimum, which the centralized reference solver finds.
TEST(Run, UsesASparseSubsetOfADenseGraph) {
  Config config = small();
  config.agents = 30;
  config.graph = "complete";
  config.penalty = {};
  config.tolerance = 1e-8;
  const auto sparse = run(config);
  config.links = LinkChoice::all;
  const auto all = run(config);
  ASSERT_TRUE(sparse && all);
  EXPECT_EQ(all->problem.edges, 435u);
  EXPECT_TRUE(all->notes.empty());
  EXPECT_NEAR(static_cast<double>(sparse->problem.edges), 120, 6);
  ASSERT_EQ(sparse->notes.size(), 1u);
  EXPECT_TRUE(mentions(sparse->notes[0], "of the graph's 435 links are used")) << sparse->notes[0];
  EXPECT_EQ(sparse->config.at("links"), "sparse");
  EXPECT_EQ(all->config.at("links"), "all");
  EXPECT_EQ(sparse->outcome.status, RunStatus::converged);
  EXPECT_NEAR(sparse->objective, all->objective, 1e-8 * all->objective);
  EXPECT_LT(2 * sparse->trace.back().cost.bytes_sent, all->trace.back().cost.bytes_sent);
}

TEST(Run, KeepsAllLinksOfADenseGraphForOtherMethods) {
  const auto edges_with = [](Method method, PenaltySpec penalty, LinkChoice links) {
    Config config = small();
    config.agents = 30;
    config.graph = "complete";
    config.rounds = 1;
    config.method = method;
    config.penalty = penalty;
    config.links = links;
    return run(config)->problem.edges;
  };
  using enum LinkChoice;
  EXPECT_EQ(edges_with(Method::nids, {}, automatic), 435u);
  EXPECT_EQ(edges_with(Method::tree_newton, {}, automatic), 435u);
  EXPECT_EQ(edges_with(Method::automatic, {}, automatic), 435u);  // tree-newton
  EXPECT_EQ(edges_with(Method::druid_vl, 1e-3, automatic), 435u);
  EXPECT_LT(edges_with(Method::nids, {}, sparse), 130u);
  EXPECT_LT(edges_with(Method::druid_vl, 1e-3, sparse), 130u);
  EXPECT_LT(edges_with(Method::druid_vl, LinkWeightForm{LinkWeightShape::diagonal}, automatic),
            130u);
}

TEST(Run, SaysWhichOptionsHaveNoEffect) {
  const auto notes_with = [](auto change) {
    Config config = small();
    config.rounds = 1;
    change(config);
    return run(config)->notes;
  };
  EXPECT_TRUE(notes_with([](Config&) {}).empty());
  EXPECT_EQ(
      notes_with([](Config& config) { config.step = 0.1; }),
      std::vector<std::string>{"--step has no effect: druid-vl goes by --penalty and --prox"});
  EXPECT_TRUE(notes_with([](Config& config) {
                config.step = 0.1;
                config.method = Method::nids;
                config.penalty = {};
              }).empty());
  EXPECT_EQ(notes_with([](Config& config) {
              config.method = Method::pg_extra;
              config.work = "7";
              config.prox = 0.1;
            }),
            std::vector<std::string>{
                "--work, --penalty, --prox have no effect: pg-extra goes by --step"});
  EXPECT_EQ(notes_with([](Config& config) { config.theta_penalty = 1; }),
            std::vector<std::string>{
                "--theta-penalty has no effect: there is no regularizer to keep a copy for"});
  EXPECT_EQ(notes_with([](Config& config) { config.batch_gradient = 20; }),
            std::vector<std::string>{"--batch-gradient has no effect: steps look at all samples"});
  EXPECT_EQ(notes_with([](Config& config) {
              config.method = Method::exact_admm;
              config.work = "7";
            }),
            std::vector<std::string>{"--work has no effect: exact-admm takes one local step"});
  EXPECT_EQ(notes_with([](Config& config) {
              config.method = Method::druid_newton;
              config.sampling = SamplingKind::minibatch;
              config.batch_gradient = config.batch_hessian = 1;
              config.label_column = "y";
            }).size(),
            3u);
}

// The logistic loss has bounded gradients: a step a thousand times too long throws the agents
// about, but never makes them overflow.
TEST(Divergence, OfAStepThatWandersForEverIsNoticed) {
  Config config = small();
  config.data = "synthetic:ijcnn-like,samples=600";
  config.penalty = {};
  config.l2 = 0;
  config.method = Method::pg_extra;
  config.step = 1000;
  const RunRecord record = must_run(config);
  EXPECT_EQ(record.outcome.status, RunStatus::diverged);
  EXPECT_TRUE(mentions(record.outcome.detail, "smaller --step")) << record.outcome.detail;
  ASSERT_EQ(record.notes.size(), 1u);
  EXPECT_TRUE(mentions(record.notes[0], "longer than 2/L")) << record.notes[0];
}

TEST(Divergence, IsNotBlamedOnALongStepThatConverges) {
  Config config = small();
  config.penalty = {};
  config.method = Method::nids;
  config.rounds = 1;
  const double usual = must_run(config).config.at("step");  // 1/L
  config.step = 2.5 * usual;
  config.rounds = 2000;
  const RunRecord record = must_run(config);
  EXPECT_EQ(record.outcome.status, RunStatus::converged);
  EXPECT_EQ(record.notes.size(), 1u);
}

TEST(Work, ThatWasLeftToTheAgentsIsExplained) {
  Config config = small();
  config.rounds = 1;
  EXPECT_EQ(must_run(config).agents[0].work_reason, "speeds are not known: 5 steps");
  config.penalty = {};
  const RunRecord record = must_run(config);
  EXPECT_EQ(record.agents[0].work_reason,
            "speeds are not known: 5 steps, fewer once one gains what a quadratic promises");
  config.work = "auto:1,2,3,4,5";
  EXPECT_TRUE(mentions(must_run(config).agents[1].work_reason, "as given: 2 steps"));
  config.work = "2";
  EXPECT_EQ(must_run(config).agents[0].work_reason, "");
  config.work = "auto";
  config.method = Method::druid_newton;
  EXPECT_EQ(must_run(config).agents[0].work_reason, "");
}

}  // namespace
}  // namespace grove
