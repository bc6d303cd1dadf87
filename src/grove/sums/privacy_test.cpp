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

/// Computed by bisection with 40 digits (mpmath). A single normal number with mu = 1 and delta =
/// 1e-5 costs 4.377 also by the analytic Gaussian mechanism (Balle and Wang, ICML 2018).
TEST(Privacy, CostsWhatWasComputedElsewhere) {
  struct Cost {
    double mu, delta, epsilon;
  };
  for (const Cost& cost :
       {Cost{0.01, 1e-3, 0.0090480725930388}, Cost{0.01, 1e-6, 0.033673780130806},
        Cost{0.01, 1e-9, 0.048866393015703}, Cost{0.3, 1e-3, 0.73533857060239},
        Cost{0.3, 1e-6, 1.2917099372806}, Cost{0.3, 1e-9, 1.6912523121962},
        Cost{1, 1e-5, 4.3771780956812}, Cost{3, 1e-3, 13.088179164628},
        Cost{3, 1e-6, 18.163445759078}, Cost{3, 1e-9, 21.945589990967}})
    EXPECT_NEAR(epsilon_of(cost.mu, cost.delta), cost.epsilon, 1e-9 * cost.epsilon) << cost.mu;
  EXPECT_NEAR(delta_of(1, 1), 0.12693673750664395, 1e-15);
}

/// A normal number with mean mu rather than 0 has a Renyi divergence of order alpha of alpha rho
/// with rho = mu^2/2: it is rho-concentrated. From that alone follow two bounds of epsilon.
struct ConcentratedBounds {
  double simple;    ///< Bun and Steinke, TCC 2016, proposition 1.3
  double smallest;  ///< Canonne, Kamath and Steinke, NeurIPS 2020, proposition 12, the best order
};
ConcentratedBounds concentrated_bounds(double mu, double delta) {
  const double rho = mu * mu / 2;
  ConcentratedBounds bounds{rho + 2 * std::sqrt(rho * std::log(1 / delta)), 1e300};
  for (double excess = 1e-4; excess < 1e5; excess *= 1.001) {
    const double order = 1 + excess;
    bounds.smallest = std::min(bounds.smallest, order * rho + std::log1p(-1 / order) -
                                                    (std::log(delta) + std::log(order)) / excess);
  }
  return bounds;
}

/// What an attacker proves who says "mean mu" above a threshold: P(said | mu) <= e^epsilon P(said |
/// 0) + delta. No test between two simple hypotheses proves more than the best threshold (Neyman
/// and Pearson), hence the least epsilon is the largest proved one.
double proved_epsilon(double mu, double delta) {
  double proved = 0;
  for (double threshold = -10; threshold < 12; threshold += 1e-3) {
    const double hit = 0.5 * std::erfc((threshold - mu) / std::sqrt(2));
    const double false_alarm = 0.5 * std::erfc(threshold / std::sqrt(2));
    if (hit > delta) proved = std::max(proved, std::log((hit - delta) / false_alarm));
  }
  return proved;
}

/// No less than an attack proves, no more than concentrated privacy with the same mu promises. The
/// accountant is between them and equal to the first, up to the grid of thresholds. The ratio to
/// the second has no bound: for mu -> 0 the cost at a fixed delta is 0 from 2 Phi(mu/2) - 1 = delta
/// on, that of concentrated privacy never.
TEST(Privacy, LiesBetweenAttackAndConcentratedPrivacy) {
  for (const double mu : {0.01, 0.3, 1.0, 3.0})
    for (const double delta : {1e-3, 1e-6, 1e-9}) {
      const double epsilon = epsilon_of(mu, delta), proved = proved_epsilon(mu, delta);
      const ConcentratedBounds bounds = concentrated_bounds(mu, delta);
      EXPECT_GE(epsilon, proved * (1 - 1e-9)) << mu << " " << delta;
      EXPECT_LE(epsilon, proved * (1 + 1e-5)) << mu << " " << delta;
      EXPECT_LE(epsilon, bounds.smallest) << mu << " " << delta;
      EXPECT_LE(bounds.smallest, bounds.simple) << mu << " " << delta;
    }
  const double costless = 0.999e-3 * std::sqrt(2 * std::numbers::pi);
  EXPECT_EQ(epsilon_of(costless, 1e-3), 0);
  EXPECT_GT(concentrated_bounds(costless, 1e-3).simple, 0.009);
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
