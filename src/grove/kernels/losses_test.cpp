#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "grove/base/random.h"
#include "grove/kernels/kernels.h"

namespace grove::kernels {
namespace {

using Real = long double;

struct Samples {
  std::vector<double> margins, targets;
};

struct Outcome {
  double sum = 0;
  std::vector<double> slopes, second_derivatives;
};

Outcome logistic(const Kernels& kernels, const Samples& samples) {
  const auto count = samples.margins.size();
  Outcome result{0, std::vector<double>(count), std::vector<double>(count)};
  result.sum =
      kernels.logistic({static_cast<Index>(count), samples.margins.data(), samples.targets.data(),
                        result.slopes.data(), result.second_derivatives.data()});
  return result;
}

struct Point {
  double value, slope, second_derivative;
};

/// One sample alone: its value is the sum.
Point logistic_at(const Kernels& kernels, double margin, double target) {
  const Outcome one = logistic(kernels, {{margin}, {target}});
  return {one.sum, one.slopes[0], one.second_derivatives[0]};
}

/// Distance to the exact number in units of the last place of the double next to it.
double ulps(double got, Real want) {
  const double near = static_cast<double>(want);
  const double unit = std::nextafter(std::abs(near), HUGE_VAL) - std::abs(near);
  return static_cast<double>(std::abs(static_cast<Real>(got) - want) / unit);
}

struct Exact {
  Real value, slope, second_derivative;
};

/// The formulas in extended precision. For y = 1 they are those of -m and y = 0.
Exact exact_logistic(double margin, double target) {
  const Real sign = target == 1 ? -1 : 1;
  const Real z = sign * margin;
  const Real one = 1 / (1 + std::exp(-z)), zero = 1 / (1 + std::exp(z));
  const Real value = z > 0 ? z + std::log1p(std::exp(-z)) : std::log1p(std::exp(z));
  return {value, sign * one, one * zero};
}

class EachLossKernel : public testing::TestWithParam<const Kernels*> {};

INSTANTIATE_TEST_SUITE_P(Variants, EachLossKernel, testing::ValuesIn(available()),
                         [](const auto& variant) { return std::string(variant.param->name); });

std::vector<double> margins_of_every_size() {
  KeyedRandom random({.seed = 7, .purpose = Purpose::synthetic});
  std::vector<double> margins = {0.0, -0.0, 1e-320, -1e-320, 1e-17, -1e-17, 0x1p-53, -0x1p-53};
  for (double size = 1e-12; size < 720; size *= 1.003) {
    margins.push_back(size * (1 + 0.003 * random.uniform()));
    margins.push_back(-size * (1 + 0.003 * random.uniform()));
  }
  for (int k = 0; k < 20000; ++k) margins.push_back(8 * random.normal());
  return margins;
}

TEST_P(EachLossKernel, LogisticLossIsWithinFourUnitsInTheLastPlace) {
  const std::vector<double> margins = margins_of_every_size();
  Point worst{0, 0, 0};
  for (const double target : {0.0, 1.0})
    for (const double margin : margins) {
      const Point got = logistic_at(*GetParam(), margin, target);
      const Exact want = exact_logistic(margin, target);
      worst.value = std::max(worst.value, ulps(got.value, want.value));
      worst.slope = std::max(worst.slope, ulps(got.slope, want.slope));
      worst.second_derivative =
          std::max(worst.second_derivative, ulps(got.second_derivative, want.second_derivative));
    }
  RecordProperty("ulps", std::to_string(worst.value) + " " + std::to_string(worst.slope) + " " +
                             std::to_string(worst.second_derivative));
  EXPECT_LT(worst.value, 4);
  EXPECT_LT(worst.slope, 4);
  EXPECT_LT(worst.second_derivative, 4);
}

// e^-m for m in (708.4, 745.2) is denormal: its own last place is the unit.
TEST_P(EachLossKernel, LogisticLossFadesThroughTheDenormals) {
  for (double margin = 705; margin < 746; margin += 0.37) {
    const Point sure = logistic_at(*GetParam(), margin, 1);
    const Real want = std::exp(-static_cast<Real>(margin));
    EXPECT_LT(ulps(sure.value, want), 4) << margin;
    EXPECT_LT(ulps(sure.slope, -want), 4) << margin;
    EXPECT_LT(ulps(sure.second_derivative, want), 4) << margin;
  }
}

TEST_P(EachLossKernel, LogisticLossIsLinearAtHugeMargins) {
  for (const double margin : {746.0, 1e3, 1e10, 1e300, std::numeric_limits<double>::max()}) {
    const Point wrong = logistic_at(*GetParam(), margin, 0);
    EXPECT_EQ(wrong.value, margin);
    EXPECT_EQ(wrong.slope, 1);
    const Point right = logistic_at(*GetParam(), margin, 1);
    EXPECT_EQ(right.value, 0);
    EXPECT_EQ(right.slope, 0);
    EXPECT_EQ(right.second_derivative, 0);
    EXPECT_EQ(logistic_at(*GetParam(), -margin, 1).slope, -1);
  }
}

TEST_P(EachLossKernel, LossesOfWhatIsNotANumberAreNotNumbers) {
  const Point point = logistic_at(*GetParam(), std::nan(""), 0);
  EXPECT_TRUE(std::isnan(point.value) && std::isnan(point.slope) &&
              std::isnan(point.second_derivative));
}

// A sample gets the same bits wherever it stands, and the sum is that of the single values.
TEST_P(EachLossKernel, ABlockOfAnyLengthIsItsSamplesOneByOne) {
  KeyedRandom random({.seed = 3, .purpose = Purpose::synthetic});
  for (std::size_t count = 1; count <= 13; ++count) {
    Samples samples;
    for (std::size_t k = 0; k < count; ++k) {
      samples.margins.push_back(3 * random.normal());
      samples.targets.push_back(random.uniform() < 0.5 ? 0 : 1);
    }
    const Outcome block = logistic(*GetParam(), samples);
    Real sum = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const Point alone = logistic_at(*GetParam(), samples.margins[k], samples.targets[k]);
      EXPECT_EQ(block.slopes[k], alone.slope);
      EXPECT_EQ(block.second_derivatives[k], alone.second_derivative);
      sum += alone.value;
    }
    EXPECT_NEAR(block.sum, static_cast<double>(sum), 1e-14 * static_cast<double>(sum));
  }
}

// Residuals -3, 0.5, 2, -1 with delta 1: worked out by hand.
TEST_P(EachLossKernel, SquaredAndHuberLossesOfHandWorkedResiduals) {
  const double margins[] = {-2, 1.5, 4, 0}, targets[] = {1, 1, 2, 1};
  double slopes[4], second_derivatives[4];
  const LossBlock block{4, margins, targets, slopes, second_derivatives};
  EXPECT_DOUBLE_EQ(GetParam()->squared(block), 4.5 + 0.125 + 2 + 0.5);
  const double squared_slopes[] = {-3, 0.5, 2, -1};
  for (int k = 0; k < 4; ++k) {
    EXPECT_EQ(slopes[k], squared_slopes[k]);
    EXPECT_EQ(second_derivatives[k], 1);
  }
  EXPECT_DOUBLE_EQ(GetParam()->huber(1, block), 2.5 + 0.125 + 1.5 + 0.5);
  const double huber_slopes[] = {-1, 0.5, 1, -1}, huber_second_derivatives[] = {0, 1, 0, 1};
  for (int k = 0; k < 4; ++k) {
    EXPECT_EQ(slopes[k], huber_slopes[k]);
    EXPECT_EQ(second_derivatives[k], huber_second_derivatives[k]);
  }
}

}  // namespace
}  // namespace grove::kernels
