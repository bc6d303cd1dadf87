#include "experiments/figure1.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace grove::experiments {
namespace {

std::filesystem::path data_folder() {
  const char* folder = std::getenv("GROVE_DATA_DIR");
  return folder ? folder : GROVE_DEFAULT_DATA_DIR;
}

double saved_with_whole_shards(LocalModelKind model, const Scale& scale) {
  const Setting setting = settings(scale)[1];
  const auto run_all = [](std::vector<Trial> trials) {
    std::vector<TrialResult> results;
    for (Trial& trial : trials) {
      trial.stop.reached = goal;
      const auto problem = prepare(trial.config);
      results.push_back((**run_trial(trial, *problem, {})).result);
    }
    return results;
  };
  const auto all = contenders();
  const auto newton = run_all(contender_trials(scale, setting, model, all[3], {}));
  const auto several = run_all(contender_trials(scale, setting, model, all[2], {}));
  return rounds_saved(newton, several, goal);
}

// The known answers (math: section 7) on one instance: 65 rounds become 29 with the linearized
// model and E = 10, and stay 65 with the augmented one. Another sample and graph must agree.
TEST(Figure1, WholeShardsSaveHalfTheRoundsOnlyWithTheLinearizedModel) {
  const auto file = data_folder() / "ijcnn1.bz2";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there: set GROVE_DATA_DIR";
  const Scale scale{.data = file.string(), .samples = 4000, .seeds = 1};
  const double linearized = saved_with_whole_shards(LocalModelKind::linearized, scale);
  EXPECT_GT(linearized, 0.45);
  EXPECT_LT(linearized, 0.65);
  EXPECT_NEAR(saved_with_whole_shards(LocalModelKind::augmented, scale), 0, 0.03);
}

TEST(Figure1, ChoosesTheStepWithTheLeastMedianErrorAndSkipsDivergedOnes) {
  const Contender contender{.name = "P2D2", .method = Method::p2d2, .searched = true};
  std::vector<TrialResult> results;
  for (std::size_t k = 0; k < factors(Method::p2d2).size(); ++k) {
    TrialResult run;
    run.round = {0, 10};
    run.error = {1, k == 3 ? 0.1 : 0.5};
    run.lost = k > 4;
    if (run.lost) run.error.back() = 1e-9;  // must not be chosen
    results.insert(results.end(), 2, run);
  }
  const Search search = pick_best(contender, results, 2, 20);
  EXPECT_EQ(search.best, factors(Method::p2d2)[3]);
  EXPECT_TRUE(std::isinf(search.errors[5]));
}

// Factor 0 is ahead at round 10 and stalls; factor 1 solves the problem at round 30, factor 2
// at 20.
TEST(Figure1, ChoosesForTheRoundsThatArePictured) {
  const Contender contender{.name = "P2D2", .method = Method::p2d2, .searched = true};
  TrialResult stalls, slow, fast, bad;
  for (TrialResult* run : {&stalls, &slow, &fast, &bad}) run->round = {0, 10, 20, 30};
  stalls.error = {1, 1e-3, 9e-4, 9e-4};
  slow.error = {1, 1e-2, 1e-6, 1e-12};
  fast.error = {1, 2e-3, 1e-10, 1e-10};
  bad.error = {1, 1, 1, 1};
  std::vector<TrialResult> results(factors(Method::p2d2).size(), bad);
  results[0] = stalls, results[1] = slow, results[2] = fast;
  EXPECT_EQ(pick_best(contender, results, 1, 10).best, factors(Method::p2d2)[0]);
  EXPECT_EQ(pick_best(contender, results, 1, 30).best, factors(Method::p2d2)[2]);
}

}  // namespace
}  // namespace grove::experiments
