#include "grove/coupling/residual_balancing.h"

#include <cmath>

#include <gtest/gtest.h>

namespace grove {
namespace {

/// Activations until the weights were raised; 0 if they were not within 1000.
int first_change(double squared_residual, double squared_step, double decay, double depth = 2) {
  ResidualBalancing balancing;
  for (int k = 1; k <= 1000; ++k) {
    balancing.add_step(squared_step);
    if (balancing.observe(squared_residual, depth)) return k;
    squared_residual *= decay;
    squared_step *= decay;
  }
  return 0;
}

TEST(ResidualBalancing, RaisesWeightsWhereAgentsDisagreeAndHardlyMove) {
  EXPECT_EQ(first_change(1, 1e-3, 0.999), 28);  // two windows of 10 + 2 * 2
  EXPECT_EQ(first_change(1, 1e-3, 0.999, 20), 100);
}

TEST(ResidualBalancing, LeavesWeightsAsTheyAreWhereResidualsDecrease) {
  EXPECT_EQ(first_change(1, 1e-3, 0.8), 0);  // 0.8^14 = 0.04
}

TEST(ResidualBalancing, LeavesWeightsAsTheyAreWhereAgentsMoveAsMuchAsTheyDisagree) {
  EXPECT_EQ(first_change(1, 0.1, 0.999), 0);
}

TEST(ResidualBalancing, DoesNotDependOnTheScale) {
  for (const double scale : {1e-30, 1e-12, 1e12})
    EXPECT_EQ(first_change(scale, 1e-3 * scale, 0.999), 28);
}

// Twenty activations between two observations of the neighbours: all their steps count.
TEST(ResidualBalancing, AddsUpTheStepsBetweenObservations) {
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

TEST(ResidualBalancing, MakesALimitedNumberOfChanges) {
  ResidualBalancing balancing;
  int changes = 0;
  for (int k = 0; k < 100000; ++k) changes += balancing.observe(1, 2);
  EXPECT_EQ(changes, static_cast<int>(ResidualBalancing::most_changes));
  EXPECT_EQ(balancing.factor(), std::pow(ResidualBalancing::change, changes));
}

}  // namespace
}  // namespace grove
