#include "experiments/statistics.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "experiments/figure1.h"

namespace grove::experiments {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

TrialResult run_of(std::vector<double> errors, double seconds_per_round = 1) {
  TrialResult run;
  for (std::size_t k = 0; k < errors.size(); ++k) {
    run.round.push_back(static_cast<double>(k));
    run.seconds.push_back(seconds_per_round * static_cast<double>(k));
    run.broadcasts.push_back(10 * static_cast<double>(k));
  }
  run.error = std::move(errors);
  return run;
}

TEST(Spread, TakesQuartilesAndCountsWhatNeverHappenedAsInfinite) {
  const Spread spread = spread_of({5, 1, 3, 2, 4});
  EXPECT_EQ(spread.low, 2);
  EXPECT_EQ(spread.median, 3);
  EXPECT_EQ(spread.high, 4);
  EXPECT_EQ(spread_of({1, 2, std::nan("")}).median, 2);
  EXPECT_EQ(spread_of({1, infinity, std::nan("")}).median, infinity);
  EXPECT_EQ(spread_of({1, 2, 3, 4}).median, 2.5);
}

TEST(ErrorOverRounds, EndsWhereHalfOfTheSeedsAreLost) {
  TrialResult lost = run_of({1, 8, 90});
  lost.lost = true;
  const std::vector<TrialResult> seeds = {run_of({1, 0.5, 0.25, 0.125}), lost, lost};
  const Curve curve = error_over_rounds("a", seeds, 100);
  ASSERT_EQ(curve.x.size(), 3u);
  EXPECT_EQ(curve.y[1], 8);
  ASSERT_EQ(curve.marks.size(), 1u);
  EXPECT_EQ(curve.marks[0].x, 2);
  EXPECT_EQ(curve.marks[0].text, "2 of 3");
  EXPECT_TRUE(error_over_rounds("b", std::vector{seeds[0]}, 100).marks.empty());
}

TEST(ErrorOverRounds, KeepsTheLastErrorOfARunThatReachedItsGoal) {
  const std::vector<TrialResult> seeds = {run_of({1, 0.5, 0.25}), run_of({1, 0.01}),
                                          run_of({1, 0.4, 0.2})};
  const Curve curve = error_over_rounds("a", seeds, 100);
  ASSERT_EQ(curve.x.size(), 3u);
  EXPECT_EQ(curve.y[2], 0.2);
  EXPECT_NEAR(curve.low[2], 0.105, 1e-15);
}

TEST(Savings, CompareRunsOfTheSameSeed) {
  const std::vector<TrialResult> slow = {run_of({1, 0.5, 0.1, 0.05, 0.009}), run_of({1, 0.001})};
  const std::vector<TrialResult> fast = {run_of({1, 0.005}), run_of({1, 0.002})};
  // rounds 4 -> 1 and 1 -> 1: shares 0.25 and 1
  EXPECT_DOUBLE_EQ(rounds_saved(slow, fast, 1e-2), 1 - 0.625);
  EXPECT_TRUE(std::isnan(rounds_saved(slow, fast, 1e-4)));
  EXPECT_EQ(broadcasts_to(slow[0], 1e-2, 10), 4);
}

// b takes 2 s per round and reaches 0.01 at 4 s; a, at 1 s per round, has error 0.04 then.
TEST(Savings, CompareErrorsAtTheSameMoment) {
  const std::vector<TrialResult> a = {run_of({1, 0.5, 0.2, 0.1, 0.04, 0.03})};
  const std::vector<TrialResult> b = {run_of({1, 0.3, 0.01, 0.001}, 2)};
  EXPECT_DOUBLE_EQ(error_ratio_at_equal_time(a, b, 0.01), 4);
}

TEST(Savings, SayNothingWhereTheSlowerNeverArrives) {
  const std::vector<TrialResult> never = {run_of({1, 0.5, 0.4})}, arrives = {run_of({1, 0.005})};
  EXPECT_TRUE(std::isnan(rounds_saved(never, arrives, 1e-2)));
}

// The second seed ends at 2 s, the first at 4 s: no point beyond 2 s, where the median would jump.
TEST(ErrorOverTime, EndsWithTheFirstSeedToEnd) {
  const std::vector<TrialResult> seeds = {run_of({1, 0.5, 0.25}, 2), run_of({1, 0.1, 0.01})};
  const Curve curve = error_over_time("a", seeds, 5);
  ASSERT_EQ(curve.x.size(), 5u);
  EXPECT_DOUBLE_EQ(curve.x.back(), 2);
  EXPECT_DOUBLE_EQ(curve.y.back(), (0.5 + 0.01) / 2);
}

TEST(ErrorOverTime, IsAStepFunctionOfTheMeasuredRounds) {
  const TrialResult run = run_of({1, 0.5, 0.25}, 2);
  EXPECT_EQ(error_at_time(run, 1.9), 1);
  EXPECT_EQ(error_at_time(run, 2), 0.5);
  EXPECT_EQ(error_at_time(run, 3.9), 0.5);
  EXPECT_TRUE(std::isnan(error_at_time(run, 5)));
}

}  // namespace
}  // namespace grove::experiments
