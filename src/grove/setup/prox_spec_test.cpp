#include "grove/setup/prox_spec.h"

#include <gtest/gtest.h>

#include "grove/train/run.h"

namespace grove {
namespace {

Config small_run() {
  Config config;
  config.data = "synthetic:gaussian,samples=90,features=3";
  config.agents = 3;
  config.graph = "path";
  config.work = "2,10,19";
  config.penalty = 0.05;
  config.rounds = 2;
  return config;
}

Status set(Config& config, const std::string& text) {
  auto options = options_of(config);
  return set_option(*find_option(options, "prox"), text);
}

// 0.1 c^(E - 10) [1 - (1+zeta) c^10] / [1 - (1+zeta) c^E], worked out apart for c = 0.98,
// zeta = 0.005: c^2 = 0.9604, c^10 = 0.8170728068875467, c^19 = 0.6812326242398921.
TEST(ProxSpec, TunedGivesEveryAgentTheWeightOfItsWorkLoad) {
  Config config = small_run();
  ASSERT_TRUE(set(config, "tuned"));
  const auto record = run(config);
  ASSERT_TRUE(record) << record.error().text();
  const double c10 = 0.8170728068875467, c2 = 0.9604, c19 = 0.6812326242398921;
  const double top = 1 - 1.005 * c10;
  EXPECT_NEAR(*record->agents[0].prox, 0.1 * (c2 / c10) * top / (1 - 1.005 * c2), 1e-13);
  EXPECT_NEAR(*record->agents[1].prox, 0.1, 1e-15);
  EXPECT_NEAR(*record->agents[2].prox, 0.1 * (c19 / c10) * top / (1 - 1.005 * c19), 1e-13);
  EXPECT_EQ(record->config.at("prox"), "tuned:c=0.98,zeta=0.005,work=10,eps=0.1");
}

TEST(ProxSpec, ReadsBackWhatItShows) {
  Config config = small_run();
  ASSERT_TRUE(set(config, "tuned:c=0.9,work=4,zeta=0.01,eps=0.5"));
  const std::string shown = find_option(options_of(config), "prox")->get().get<std::string>();
  EXPECT_EQ(shown, "tuned:c=0.9,zeta=0.01,work=4,eps=0.5");
  Config again = small_run();
  ASSERT_TRUE(set(again, shown));
  ASSERT_TRUE(set(again, "0.25"));
  EXPECT_EQ(std::get<double>(again.prox->value), 0.25);
}

TEST(ProxSpec, RefusesWhatItCannotMean) {
  Config config = small_run();
  for (const char* wrong :
       {"tuned:c=1", "tuned:c=0.99,zeta=0.02", "tuned:steps=4", "tuned:c", "tuned:work=0.5",
        "tuned:eps=0", "-1", "much", "tunedd", "1,-1,1", "1,,1", "1,much,1"})
    EXPECT_FALSE(set(config, wrong)) << wrong;
  ASSERT_TRUE(set(config, "tuned"));
  config.method = Method::druid_newton;
  const Status status = check(config);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().where, "--prox");
}

// On the path 0 - 1 - 2 with mu = 0.05 the local bound mu deg_i is 0.05, 0.1 and 0.05; agent 0
// holds l1 and adds mu_theta = 0.3.
TEST(ProxSpec, AutoIsTheLocalBoundOfTheLinearizedModel) {
  Config config = small_run();
  config.local_model = LocalModelKind::linearized;
  config.l1 = 0.01;
  config.theta_penalty = 0.3;
  ASSERT_TRUE(set(config, "auto"));
  const auto record = run(config);
  ASSERT_TRUE(record) << record.error().text();
  EXPECT_NEAR(*record->agents[0].prox, 0.35, 1e-15);
  EXPECT_NEAR(*record->agents[1].prox, 0.1, 1e-15);
  EXPECT_NEAR(*record->agents[2].prox, 0.05, 1e-15);
  EXPECT_EQ(record->config.at("prox"), "0.35,0.1,0.05");
}

TEST(ProxSpec, TakesOneWeightForEachAgent) {
  Config config = small_run();
  ASSERT_TRUE(set(config, "0.5, 0,0.25"));
  for (const PenaltySpec& penalty : {PenaltySpec(0.05), PenaltySpec(LinkWeightForm{})}) {
    config.penalty = penalty;
    const auto record = run(config);
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_EQ(*record->agents[0].prox, 0.5);
    EXPECT_EQ(*record->agents[1].prox, 0);
    EXPECT_EQ(*record->agents[2].prox, 0.25);
    EXPECT_EQ(record->config.at("prox"), "0.5,0,0.25");
  }
  ASSERT_TRUE(set(config, "0.5,0.25"));
  const auto refused = run(config);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "--prox") << refused.error().text();
}

TEST(ProxSpec, AutoIsZeroWhereTheLinksAloneKeepTheModelStable) {
  Config config = small_run();
  ASSERT_TRUE(set(config, "auto"));
  for (const PenaltySpec& penalty : {PenaltySpec(0.05), PenaltySpec(LinkWeightForm{})}) {
    config.penalty = penalty;
    const auto record = run(config);
    ASSERT_TRUE(record) << record.error().text();
    for (const AgentSummary& agent : record->agents) EXPECT_EQ(agent.prox, 0);
  }
}

// Ten agents that are all neighbours have lambda_max = 10: eps = 2 mu is far below the bound
// mu lambda_max / 2, and nearly flat objectives cannot save it.
TEST(ProxSpec, AutoKeepsALinearizedModelStableThatTwiceThePenaltyDoesNot) {
  Config config;
  config.data = "synthetic:gaussian,samples=400,features=4,scale=0.01";
  config.graph = "complete";
  config.penalty = 5e-4;
  config.work = "10";
  config.local_model = LocalModelKind::linearized;
  config.l2 = 1e-4;
  config.rounds = 3000;
  config.threads = 1;
  const auto twice = run(config);
  ASSERT_TRUE(twice);
  EXPECT_NE(twice->outcome.status, RunStatus::converged);
  ASSERT_TRUE(set(config, "auto"));
  const auto automatic = run(config);
  ASSERT_TRUE(automatic);
  EXPECT_EQ(automatic->outcome.status, RunStatus::converged) << automatic->outcome.detail;
  EXPECT_TRUE(automatic->notes.empty()) << automatic->notes.front();
}

}  // namespace
}  // namespace grove
