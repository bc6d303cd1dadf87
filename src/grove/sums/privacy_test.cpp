#include "grove/sums/privacy.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

namespace grove {
namespace {

/// The definition: delta is the integral of p - e^epsilon q where that is positive, p and q being
/// the densities of normal numbers whose means are mu apart.
double integrated_delta(double mu, double epsilon) {
  constexpr double least = -40, width = 1e-4;
  double sum = 0;
  for (double z = least; z < -least; z += width) {
    const double p = std::exp(-0.5 * (z - mu) * (z - mu)), q = std::exp(epsilon - 0.5 * z * z);
    sum += std::max(0.0, p - q) * width;
  }
  return sum / std::sqrt(2 * std::numbers::pi);
}

TEST(Privacy, AccountsByTheDefinition) {
  for (const double mu : {0.1, 1.0, 3.0})
    for (const double epsilon : {0.1, 1.0, 5.0})
      EXPECT_NEAR(delta_of(mu, epsilon), integrated_delta(mu, epsilon), 1e-9)
          << mu << " " << epsilon;
}

TEST(Privacy, InvertsTheAccount) {
  for (const double epsilon : {0.01, 0.1, 1.0, 30.0})
    for (const double delta : {1e-3, 1e-6, 1e-9}) {
      const double mu = mu_of({epsilon, delta});
      EXPECT_NEAR(delta_of(mu, epsilon), delta, 1e-6 * delta);
      EXPECT_LE(delta_of(mu, epsilon), delta);
      EXPECT_NEAR(epsilon_of(mu, delta), epsilon, 1e-6 * epsilon);
    }
}

/// Another theorem promises less: rho = mu^2/2 of zero-concentrated privacy implies epsilon = rho +
/// 2 sqrt(rho ln(1/delta)) (Bun and Steinke 2016). It is within a factor of three.
TEST(Privacy, AgreesWithConcentratedPrivacy) {
  for (const double mu : {0.01, 0.3, 3.0})
    for (const double delta : {1e-3, 1e-6, 1e-9}) {
      const double rho = mu * mu / 2, bound = rho + 2 * std::sqrt(rho * std::log(1 / delta));
      EXPECT_LT(epsilon_of(mu, delta), bound);
      EXPECT_GT(epsilon_of(mu, delta), bound / 3);
    }
}

/// Moments, tails and the largest distance from the normal distribution (Kolmogorov) of 100,001
/// numbers. The system's numbers differ in every run; bounds are exceeded once in a billion runs.
TEST(Privacy, NoiseIsNormal) {
  for (const NormalNoise& noise : {system_noise(), simulated_noise(7, AgentId{3})}) {
    constexpr Index count = 100'001;
    const Vector drawn = noise(count, 0);
    const double n = count;
    EXPECT_NEAR(drawn.mean(), 0, 6.5 / std::sqrt(n));
    EXPECT_NEAR(drawn.squaredNorm() / n, 1, 6.5 * std::sqrt(2 / n));
    std::vector<double> sorted(drawn.begin(), drawn.end());
    std::ranges::sort(sorted);
    double distance = 0;
    for (Index k = 0; k < count; ++k)
      distance = std::max(
          distance, std::abs(0.5 * std::erfc(-sorted[static_cast<std::size_t>(k)] / std::sqrt(2)) -
                             (static_cast<double>(k) + 0.5) / n));
    EXPECT_LT(distance, 3.4 / std::sqrt(n));
    const double pairs = drawn.head(count - 1).dot(drawn.tail(count - 1)) / n;
    EXPECT_NEAR(pairs, 0, 6.5 / std::sqrt(n));
  }
}

TEST(Privacy, NoiseOfAnswersDiffers) {
  EXPECT_NE(system_noise()(4, 0), system_noise()(4, 0));
  const NormalNoise noise = simulated_noise(7, AgentId{3});
  EXPECT_EQ(noise(4, 1), noise(4, 1));
  EXPECT_NE(noise(4, 1), noise(4, 2));
  EXPECT_NE(noise(4, 1), simulated_noise(7, AgentId{4})(4, 1));
}

}  // namespace
}  // namespace grove
