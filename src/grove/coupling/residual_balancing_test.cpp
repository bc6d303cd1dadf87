#include "grove/coupling/residual_balancing.h"

#include <cmath>

#include <gtest/gtest.h>

namespace grove {
namespace {

/// Activations until the weight was raised; 0: not within 1000.
int first_change(double disagreement, double movement, double decay, double depth = 2) {
  ResidualBalancing balancing;
  for (int k = 1; k <= 1000; ++k) {
    balancing.add_step(movement);
    if (balancing.observe(disagreement, depth)) return k;
    disagreement *= decay;
    movement *= decay;
  }
  return 0;
}

TEST(ResidualBalancing, RaisesWhereAgentsDisagreeAndStandStill) {
  EXPECT_EQ(first_change(1, 1e-3, 0.999), 28);  // two windows of 10 + 2 * 2
  EXPECT_EQ(first_change(1, 1e-3, 0.999, 20), 100);
}

TEST(ResidualBalancing, LeavesLinksAloneThatMakeProgress) {
  EXPECT_EQ(first_change(1, 1e-3, 0.8), 0);  // 0.8^14 = 0.04
}

TEST(ResidualBalancing, LeavesLinksAloneWhereAgentsMoveAsMuchAsTheyDisagree) {
  EXPECT_EQ(first_change(1, 0.1, 0.999), 0);
}

TEST(ResidualBalancing, DoesNotMindTheScale) {
  for (const double scale : {1e-30, 1e-12, 1e12})
    EXPECT_EQ(first_change(scale, 1e-3 * scale, 0.999), 28);
}

// Twenty activations to every news of the neighbours: what an agent moves in between counts.
TEST(ResidualBalancing, AddsUpWhatAnAgentMovesBetweenNews) {
  ResidualBalancing still, moving;
  bool raised = false;
  for (int k = 0; k < 28; ++k) {
    still.add_step(1e-3);
    for (int step = 0; step < 20; ++step) moving.add_step(1e-3);
    raised |= still.observe(1, 2);
    EXPECT_FALSE(moving.observe(1, 2));
  }
  EXPECT_TRUE(raised);
}

TEST(ResidualBalancing, ComesToAnEnd) {
  ResidualBalancing balancing;
  int changes = 0;
  for (int k = 0; k < 100000; ++k) changes += balancing.observe(1, 2);
  EXPECT_EQ(changes, static_cast<int>(ResidualBalancing::most_changes));
  EXPECT_EQ(balancing.factor(), std::pow(ResidualBalancing::change, changes));
}

}  // namespace
}  // namespace grove
