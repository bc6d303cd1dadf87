// Same seed, same record, to the last bit: on any number of threads and on every run.

#include <cmath>

#include <gtest/gtest.h>

#include "grove/train/run.h"

namespace grove {
namespace {

struct RunCase {
  std::string name;
  Config config;
};

Config base(Method method) {
  Config config;
  config.data = "synthetic:gaussian,samples=300,features=6";
  config.agents = 12;
  config.graph = "erdos-renyi:0.3";
  config.l1 = 0.01;
  config.l2 = 0.05;
  config.method = method;
  config.penalty = 0.1;
  config.work = "uniform:1:4";
  config.rounds = 25;
  config.tolerance = 0;
  config.keep_estimates = true;
  return config;
}

std::vector<RunCase> run_cases() {
  std::vector<RunCase> cases;
  const auto add = [&](const std::string& name, Method method, auto change) {
    cases.push_back({name, base(method)});
    change(cases.back().config);
  };
  const auto as_it_is = [](Config&) {};
  add("DruidVl", Method::druid_vl, as_it_is);
  const auto by_default = [](Config& c) {
    c.penalty = PenaltySpec();
    c.work = Config().work;
  };
  add("Default", Method::druid_vl, by_default);
  add("DefaultParticipationEdgeLossDelay", Method::druid_vl, [&](Config& c) {
    by_default(c);
    c.participation = "0.5";
    c.link = LinkKind::edge;
    c.loss_rate = 0.3;
    c.delay = 4;
  });
  add("DruidNewton", Method::druid_newton, as_it_is);
  add("DruidGd", Method::druid_gd, as_it_is);
  add("DruidBfgs", Method::druid_bfgs, as_it_is);
  add("ExactAdmm", Method::exact_admm, as_it_is);
  add("PgExtra", Method::pg_extra, as_it_is);
  add("P2d2", Method::p2d2, as_it_is);
  add("Nids", Method::nids, as_it_is);
  const auto minibatch = [](Config& c) {
    c.sampling = SamplingKind::minibatch;
    c.batch_gradient = 8;
    c.batch_hessian = 12;
  };
  add("Minibatch", Method::druid_vl, minibatch);
  add("MinibatchParticipationEdgeLossDelay", Method::druid_vl, [&](Config& c) {
    minibatch(c);
    c.participation = "0.5";
    c.link = LinkKind::edge;
    c.loss_rate = 0.3;
    c.delay = 4;
  });
  add("SkewedShardsSubsampled", Method::druid_vl, [](Config& c) {
    c.partition = "label-skew:0.5";
    c.samples = 200;
    c.participation = "0.7";
  });
  return cases;
}

class EveryRun : public testing::TestWithParam<RunCase> {};
INSTANTIATE_TEST_SUITE_P(Reproducible, EveryRun, testing::ValuesIn(run_cases()),
                         [](const testing::TestParamInfo<RunCase>& tested) {
                           return tested.param.name;
                         });

nlohmann::json record_of(Config config, std::uint64_t threads, std::uint64_t seed = 1) {
  config.threads = threads;
  config.seed = seed;
  const auto record = run(config);
  EXPECT_TRUE(record) << record.error().text();
  nlohmann::json json = to_json(*record);
  json["config"].erase("threads");  // the one field that is allowed to tell
  return json;
}

TEST_P(EveryRun, TheSameSeedGivesTheSameRecordOnAnyNumberOfThreads) {
  const auto one = record_of(GetParam().config, 1);
  EXPECT_GT(one["trace"].size(), 25u);
  EXPECT_EQ(one, record_of(GetParam().config, 1)) << "a second time";
  EXPECT_EQ(one, record_of(GetParam().config, 2));
  EXPECT_EQ(one, record_of(GetParam().config, 4));
}

TEST_P(EveryRun, AnotherSeedGivesAnotherRun) {
  const auto first = record_of(GetParam().config, 1, 1),
             second = record_of(GetParam().config, 1, 2);
  EXPECT_NE(first["solution"], second["solution"]);
  EXPECT_NE(first["trace"], second["trace"]);
}

TEST_P(EveryRun, TheRecordReadsBackAsItIs) {
  const auto record = run(GetParam().config);
  ASSERT_TRUE(record) << record.error().text();
  const auto json = to_json(*record);
  const auto back = record_from_json(nlohmann::json::parse(json.dump()));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(to_json(*back), json);
  EXPECT_EQ(back->solution, record->solution);
  EXPECT_EQ(back->estimates, record->estimates);
}

// The record is enough to repeat its run: every option, set from the recorded config.
TEST_P(EveryRun, TheRecordedConfigRepeatsTheRun) {
  const auto record = run(GetParam().config);
  ASSERT_TRUE(record) << record.error().text();
  Config again;
  const auto options = options_of(again);
  for (const auto& [name, value] : record->config.items()) {
    if (value.is_null() || value == "") continue;  // was never set
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    const Status status = set_option(*find_option(options, name), text);
    ASSERT_TRUE(status) << status.error().text();
  }
  const auto repeated = run(again);
  ASSERT_TRUE(repeated) << repeated.error().text();
  EXPECT_EQ(to_json(*repeated), to_json(*record));
}

TEST(Reproducible, TheRecordOfADivergedRunSurvives) {
  Config config = base(Method::pg_extra);
  config.loss = SquaredLoss{};
  config.step = 1e200;
  config.rounds = 500;
  const auto record = run(config);
  ASSERT_TRUE(record) << record.error().text();
  ASSERT_EQ(record->outcome.status, RunStatus::diverged);
  EXPECT_FALSE(std::isfinite(record->objective));
  const auto json = to_json(*record);
  const auto back = record_from_json(nlohmann::json::parse(json.dump()));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(to_json(*back), json);
  EXPECT_EQ(back->outcome.detail, record->outcome.detail);
}

}  // namespace
}  // namespace grove
