#include "grove/coupling/common_motion.h"

#include <cmath>

#include <gtest/gtest.h>

namespace grove {
namespace {

/// Steps of length `ratio`^k along a direction that turns by `turn` each time; the squared residual
/// is `disagreement` times the squared step. The first finding within 100 activations.
std::optional<CommonMotion::Finding> first_finding(double ratio, double turn, double disagreement,
                                                   int* when = nullptr) {
  CommonMotion motion;
  double length = 1, angle = 0;
  for (int k = 1; k <= 100; ++k, length *= ratio, angle += turn) {
    Vector step(2);
    step << length * std::cos(angle), length * std::sin(angle);
    motion.add_step(step, step.squaredNorm());
    const auto finding =
        motion.observe(disagreement * length * length, 2, motion.drift().squaredNorm());
    if (finding) {
      if (when) *when = k;
      return finding;
    }
  }
  return std::nullopt;
}

TEST(CommonMotion, IsFoundWhereAgentsMoveTogetherInSteadySteps) {
  int when = 0;
  const auto finding = first_finding(0.99, 0, 0.1, &when);
  ASSERT_TRUE(finding);
  EXPECT_EQ(when, 7);  // a window of 5 + 2
  EXPECT_EQ(finding->factor, 8);
  EXPECT_NEAR(finding->direction[1], 0, 1e-15);
  EXPECT_GT(finding->direction[0], 6);
}

TEST(CommonMotion, FactorIsTheDistanceThatIsLeftInSteps) {
  const auto finding = first_finding(0.92, 0, 0.1);
  ASSERT_TRUE(finding);
  EXPECT_NEAR(finding->factor, std::min(8.0, 1 / (1 - 0.92)), 1e-9);
}

TEST(CommonMotion, IsNotFoundWhereStepsShrinkTurnOrAgentsDisagree) {
  EXPECT_FALSE(first_finding(0.8, 0, 0.1));
  EXPECT_FALSE(first_finding(0.99, 0.5, 0.1));
  EXPECT_FALSE(first_finding(0.99, 3.14159, 0.1)) << "steps back and forth";
  EXPECT_FALSE(first_finding(0.99, 0, 2));
}

TEST(CommonMotion, HasALimitedNumberOfFindings) {
  CommonMotion motion;
  int found = 0;
  for (int k = 0; k < 10000; ++k) {
    motion.add_step(Vector::Ones(1), 1);
    found += motion.observe(0, 2, motion.drift().squaredNorm()).has_value();
  }
  EXPECT_EQ(found, static_cast<int>(CommonMotion::most_findings));
}

TEST(CommonMotion, GoesOnAfterALoad) {
  CommonMotion whole, first;
  const auto step = [](CommonMotion& motion) {
    motion.add_step(Vector::Ones(2), 2);
    return motion.observe(0, 2, motion.drift().squaredNorm()).has_value();
  };
  for (int k = 0; k < 4; ++k) EXPECT_EQ(step(whole), step(first));
  ByteWriter writer;
  first.save(writer);
  CommonMotion second;
  ByteReader reader(writer.bytes());
  second.load(reader, 2);
  ASSERT_TRUE(reader.ok());
  for (int k = 0; k < 20; ++k) EXPECT_EQ(step(whole), step(second)) << k;
}

}  // namespace
}  // namespace grove
