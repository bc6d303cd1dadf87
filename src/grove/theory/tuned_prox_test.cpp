#include "grove/theory/tuned_prox.h"

#include <gtest/gtest.h>

namespace grove {
namespace {

// Worked by hand with c = 1/2, zeta = 1/2, Ebar = 2, base 1:
//   1 - 1.5 c^2 = 0.625;  E = 1: c^-1 = 2, 1 - 1.5 c = 0.25, eps = 2 * 0.625 / 0.25 = 5
//   E = 4: c^2 = 0.25, 1 - 1.5 c^4 = 0.90625, eps = 0.25 * 0.625 / 0.90625 = 5 / 29
TEST(TunedProx, FollowsThePrintedRule) {
  const TunedProxRule rule{.contraction = 0.5, .zeta = 0.5, .mean_work = 2};
  EXPECT_DOUBLE_EQ(tuned_prox(rule, 1, 2), 1.0);
  EXPECT_DOUBLE_EQ(tuned_prox(rule, 1, 1), 5.0);
  EXPECT_DOUBLE_EQ(tuned_prox(rule, 1, 4), 5.0 / 29);
  EXPECT_DOUBLE_EQ(tuned_prox(rule, 1e-4, 1), 5e-4);
}

TEST(TunedProx, GivesLessProxForMoreWorkWithThePaperSetting) {
  const TunedProxRule rule;
  EXPECT_DOUBLE_EQ(tuned_prox(rule, 1e-4, 10), 1e-4);
  for (int work = 1; work < 19; ++work)
    EXPECT_GT(tuned_prox(rule, 1, work), tuned_prox(rule, 1, work + 1));
}

TEST(TunedProx, RefusesRulesWithoutAPositiveWeightForOneStep) {
  EXPECT_TRUE(valid({}));
  EXPECT_FALSE(valid({.contraction = 0.98, .zeta = 0.03}));  // 1.03 * 0.98 > 1
  EXPECT_FALSE(valid({.contraction = 1}));
  EXPECT_FALSE(valid({.contraction = 0.5, .zeta = -0.1}));
}

}  // namespace
}  // namespace grove
