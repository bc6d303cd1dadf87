#include "grove/sums/privacy.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <vector>

#include <openssl/rand.h>

#include "grove/base/random.h"

namespace grove {
namespace {

/// Pairs of normal numbers from pairs of uniform ones (Box and Muller 1958).
Vector normal_numbers(const std::vector<std::uint64_t>& words) {
  Vector result(static_cast<Index>(words.size()));
  for (std::size_t k = 0; k + 1 < words.size(); k += 2) {
    // In (0, 1], so that the logarithm is finite.
    const double radius_draw = std::ldexp(static_cast<double>((words[k] >> 11) + 1), -53);
    const double angle =
        2 * std::numbers::pi * std::ldexp(static_cast<double>(words[k + 1] >> 11), -53);
    const double radius = std::sqrt(-2 * std::log(radius_draw));
    result[static_cast<Index>(k)] = radius * std::cos(angle);
    result[static_cast<Index>(k) + 1] = radius * std::sin(angle);
  }
  return result;
}

/// The normal distribution function.
double normal_below(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

/// The largest number for which a property holds that holds up to there. Bisection.
template <class Property>
double largest_where(const Property& holds) {
  double low = 0, high = 1;
  while (holds(high) && high < 1e6) high *= 2;
  for (int step = 0; step < 100; ++step) {
    const double middle = 0.5 * (low + high);
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace

double delta_of(double mu, double epsilon) {
  // The second term is e^epsilon times a tail that is about e^-epsilon times the first one.
  const double delta = normal_below(mu / 2 - epsilon / mu) -
                       std::exp(epsilon + std::log(normal_below(-mu / 2 - epsilon / mu)));
  return std::max(0.0, delta);
}

double mu_of(const PrivacyLoss& loss) {
  return largest_where([&](double mu) { return delta_of(mu, loss.epsilon) <= loss.delta; });
}

double epsilon_of(double mu, double delta) {
  return largest_where([&](double epsilon) { return delta_of(mu, epsilon) > delta; });
}

NormalNoise system_noise() {
  return [](Index size, std::uint64_t) {
    std::vector<std::uint64_t> words(static_cast<std::size_t>(size + size % 2));
    if (RAND_bytes(reinterpret_cast<unsigned char*>(words.data()),
                   static_cast<int>(words.size() * sizeof(words[0]))) != 1)
      throw std::runtime_error("the system has no random numbers");
    return Vector(normal_numbers(words).head(size));
  };
}

NormalNoise simulated_noise(std::uint64_t seed, AgentId agent) {
  return [seed, agent](Index size, std::uint64_t answer) {
    KeyedRandom random(
        {.seed = seed, .purpose = Purpose::privacy_noise, .agent = agent.value, .round = answer});
    Vector result(size);
    for (double& number : result) number = random.normal();
    return result;
  };
}

}  // namespace grove
