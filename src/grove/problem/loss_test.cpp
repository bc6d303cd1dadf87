#include "grove/problem/loss.h"

#include <vector>

#include <gtest/gtest.h>

#include "grove/problem/naive_problem.h"

namespace grove {
namespace {

LossPoint point_of(const Loss& loss, double margin, double target) {
  return std::visit([&](const auto& form) { return form.at(margin, target); }, loss);
}

TEST(Losses, SlopeAndSecondDerivativeAreCentralDifferences) {
  constexpr double h = 1e-5;
  for (const Loss& loss : naive::every_loss())
    for (const double target : {0.0, 1.0})
      for (const double margin : {-7.3, -1.2, -0.31, 0.0, 0.05, 0.92, 2.4, 6.1}) {
        const LossPoint here = point_of(loss, margin, target);
        const LossPoint ahead = point_of(loss, margin + h, target);
        const LossPoint behind = point_of(loss, margin - h, target);
        EXPECT_NEAR((ahead.value - behind.value) / (2 * h), here.slope,
                    1e-6 * std::max(1e-3, std::abs(here.slope)));
        EXPECT_NEAR((ahead.slope - behind.slope) / (2 * h), here.second_derivative,
                    1e-6 * std::max(1e-3, here.second_derivative));
      }
}

TEST(Losses, AgreeWithTheTextbookFormulasInExtendedPrecision) {
  for (const Loss& loss : naive::every_loss())
    for (const double target : {0.0, 1.0})
      for (const double margin : {-300.0, -40.0, -3.0, -1e-300, 0.0, 1e-300, 1e-8, 0.5, 25.0}) {
        const LossPoint got = point_of(loss, margin, target);
        const naive::Derivatives want = naive::loss_at(loss, margin, target);
        EXPECT_NEAR(got.value, static_cast<double>(want.value), 1e-15 * std::abs(margin) + 1e-15);
        EXPECT_DOUBLE_EQ(got.slope, static_cast<double>(want.slope));
        EXPECT_DOUBLE_EQ(got.second_derivative, static_cast<double>(want.second_derivative));
      }
}

// log(1 + e^-40) = e^-40 (1 - e^-40/2 + ...): a sure and right model still has a loss to compare.
TEST(LogisticLoss, KeepsItsRelativePrecisionWhereTheModelIsSureAndRight) {
  EXPECT_DOUBLE_EQ(LogisticLoss{}.at(40, 1).value, std::exp(-40.0));
  EXPECT_DOUBLE_EQ(LogisticLoss{}.at(40, 1).slope, -std::exp(-40.0));
  EXPECT_DOUBLE_EQ(LogisticLoss{}.at(-40, 0).value, std::exp(-40.0));
  EXPECT_DOUBLE_EQ(LogisticLoss{}.at(-40, 0).slope, std::exp(-40.0));
}

TEST(LogisticLoss, IsLinearAndFiniteAtExtremeMargins) {
  for (const double margin : {1e3, 1e10, 1e300}) {
    EXPECT_EQ(LogisticLoss{}.at(margin, 0).value, margin);
    EXPECT_EQ(LogisticLoss{}.at(margin, 0).slope, 1);
    EXPECT_EQ(LogisticLoss{}.at(-margin, 1).value, margin);
    EXPECT_EQ(LogisticLoss{}.at(-margin, 1).slope, -1);
    EXPECT_EQ(LogisticLoss{}.at(margin, 1).value, 0);
    EXPECT_EQ(LogisticLoss{}.at(margin, 1).second_derivative, 0);
  }
}

TEST(Losses, NoSecondDerivativeExceedsTheStatedMaximumAndThatMaximumIsReached) {
  for (const Loss& loss : naive::every_loss()) {
    double largest = 0;
    for (double margin = -20; margin <= 20; margin += 0.125)
      largest = std::max(largest, point_of(loss, margin, 0).second_derivative);
    EXPECT_EQ(largest, usual_second_derivative(loss, 0));
  }
}

TEST(HuberLoss, MeetsItsTwoPiecesSmoothlyAtDelta) {
  const HuberLoss loss{.delta = 0.5};
  EXPECT_DOUBLE_EQ(loss.at(1.5, 1).value, 0.125);
  EXPECT_DOUBLE_EQ(loss.at(1.5 + 1e-12, 1).value, 0.125 + 0.5e-12);
  EXPECT_DOUBLE_EQ(loss.at(3.0, 1).value, 0.5 * (2.0 - 0.25));
  EXPECT_DOUBLE_EQ(loss.at(-1.0, 1).slope, -0.5);
}

}  // namespace
}  // namespace grove
