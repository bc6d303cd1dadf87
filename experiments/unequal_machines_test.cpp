#include "experiments/unequal_machines.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace grove::experiments {
namespace {

TEST(UnequalMachines, ProportionalWorkIsTenTimesTheSpeed) {
  const Scale scale = quick_scale();
  const auto rules = work_rules();
  const auto rule = std::ranges::find(rules, "", &WorkRule::work);
  const std::vector<Trial> trials = work_trials(scale, WorkMethod::paper, *rule);
  ASSERT_EQ(trials.size(), scale.seeds);
  // Half of ten agents is slow: five tens and five ones.
  EXPECT_EQ(std::ranges::count(trials[0].config.work.text(), '0'), 5);
  EXPECT_EQ(std::ranges::count(trials[0].config.work.text(), '1'), 10);
}

TEST(UnequalMachines, TimesToALevelAreMediansOfSimulatedSeconds) {
  TrialResult run{
      .round = {0, 1, 2}, .error = {1, 0.1, 0.01}, .broadcasts = {0, 1, 2}, .seconds = {0, 2, 4}};
  TrialResult slower = run;
  slower.seconds = {0, 3, 6};
  TrialResult never = run;
  never.error = {1, 1, 1};
  EXPECT_EQ(seconds_to(std::vector{run, slower, never}, 0.1).median, 3);
  EXPECT_TRUE(std::isinf(seconds_to(std::vector{run, never, never}, 0.1).median));
}

TEST(UnequalMachines, TrialsKeepSimulatedSeconds) {
  Scale scale = quick_scale();
  scale.seeds = 1;
  const Trial trial = work_trials(scale, WorkMethod::automatic, work_rules().back())[0];
  const auto problem = prepare(trial.config);
  ASSERT_TRUE(problem);
  const auto finished = run_trial(trial, *problem, {});
  ASSERT_TRUE(finished && *finished);
  const auto& [result, record] = **finished;
  EXPECT_GT(result.seconds.back(), 0);
  EXPECT_EQ(result.seconds.back(), record.trace.back().simulated_seconds);
}

}  // namespace
}  // namespace grove::experiments
