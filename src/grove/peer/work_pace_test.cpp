#include "grove/peer/work_pace.h"

#include <gtest/gtest.h>

namespace grove::peer {
namespace {

TEST(WorkPace, KeepsItsFirstChoiceUntilTimesAreKnownOnBothSides) {
  WorkPace pace(5);
  EXPECT_EQ(pace.choice().steps, 5);
  pace.choose({"oak", 1});
  EXPECT_EQ(pace.choice().steps, 5) << "this peer's time is unknown";
  pace.observe(3, 0);
  EXPECT_EQ(pace.step_seconds(), 0) << "an activation without a step gives no time";
  pace.observe(3, 2);
  EXPECT_EQ(pace.step_seconds(), 1.5);
  pace.choose({"oak", 0});
  EXPECT_EQ(pace.choice().steps, 5) << "the neighbour's time is unknown";
}

TEST(WorkPace, FillsTheTimeThatTheSlowestNeighbourTakesAndNoMore) {
  WorkPace pace(5);
  pace.observe(0.2, 1);
  pace.choose({"oak", 0.7});  // 3.5 steps of 0.2 s
  EXPECT_EQ(pace.choice().steps, 3);
  EXPECT_EQ(pace.choice().reason, "steps of 200 ms fit into the 700 ms that oak takes");
  pace.choose({"oak", 0.1});
  EXPECT_EQ(pace.choice().steps, 1);
  pace.choose({"oak", 1e9});
  EXPECT_EQ(pace.choice().steps, 10) << "at most ten, for any neighbour";
}

TEST(WorkPace, AveragesOverActivations) {
  WorkPace pace(1);
  pace.observe(1, 1);
  pace.observe(6, 1);
  EXPECT_DOUBLE_EQ(pace.step_seconds(), 0.8 * 1 + 0.2 * 6);
}

}  // namespace
}  // namespace grove::peer
