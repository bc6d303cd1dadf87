#include "grove/schedule/machine_options.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace grove {
namespace {

std::string error_of(const Result<std::vector<double>>& result) {
  return result ? "" : result.error().where + " " + result.error().what;
}

TEST(MachineOptions, OneSpeedIsEverybodysAndAListIsByAgent) {
  EXPECT_EQ(*make_speeds("2", 3, 1), (std::vector<double>{2, 2, 2}));
  EXPECT_EQ(*make_speeds("1, 1,0.1", 3, 1), (std::vector<double>{1, 1, 0.1}));
}

TEST(MachineOptions, ExtremeGivesHalfOfTheAgentsTheLowValue) {
  const auto speeds = make_speeds("extreme:0.1:1", 9, 1);
  EXPECT_EQ(std::ranges::count(*speeds, 0.1), 4);
  EXPECT_EQ(std::ranges::count(*speeds, 1.0), 5);
  EXPECT_EQ(*speeds, *make_speeds("extreme:0.1:1", 9, 1));
}

TEST(MachineOptions, UniformStaysInItsRangeAndDependsOnTheSeed) {
  const auto latencies = make_latencies("uniform:0.5:1.5", 1000, 1);
  double sum = 0;
  for (const double seconds : *latencies) {
    EXPECT_GE(seconds, 0.5);
    EXPECT_LT(seconds, 1.5);
    sum += seconds;
  }
  EXPECT_NEAR(sum / 1000, 1, 0.05);  // five standard deviations: 5 / sqrt(12 * 1000)
  EXPECT_NE(*latencies, *make_latencies("uniform:0.5:1.5", 1000, 2));
}

TEST(MachineOptions, BadValuesNameTheFlagAndWhatWasExpected) {
  EXPECT_EQ(error_of(make_speeds("0", 2, 1)), "--speeds expected a speed above 0, got `0`");
  EXPECT_EQ(error_of(make_speeds("1,nan", 2, 1)), "--speeds expected a speed above 0, got `nan`");
  EXPECT_EQ(error_of(make_speeds("1,2,3", 2, 1)),
            "--speeds expected one value or 2 (one per agent), got 3");
  EXPECT_EQ(error_of(make_speeds("fast:1:2", 2, 1)),
            "--speeds expected a speed, a list, uniform:A:B or extreme:A:B, got `fast:1:2`");
  EXPECT_EQ(error_of(make_speeds("extreme:2:1", 2, 1)),
            "--speeds expected extreme:A:B with A at most B, got `extreme:2:1`");
  EXPECT_EQ(error_of(make_latencies("-1", 2, 1)),
            "--latency expected seconds, at least 0, got `-1`");
  EXPECT_EQ(error_of(make_latencies("1,2", 2, 1)),
            "--latency expected seconds, uniform:A:B or extreme:A:B, got `1,2`");
  EXPECT_TRUE(make_latencies("0", 2, 1));
}

}  // namespace
}  // namespace grove
