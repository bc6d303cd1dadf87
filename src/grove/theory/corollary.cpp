#include "grove/theory/corollary.h"

#include <cmath>

namespace grove {
namespace {

constexpr int max_iterations = 10'000;

double best_prox(double zeta, double tau) {
  return zeta * tau + std::sqrt(zeta * zeta * tau * tau + tau);
}

}  // namespace

std::optional<TunedRate> corollary_rate(TheoremSetting setting, double zeta) {
  setting.prox.assign(setting.remaining.size(), 0.0);
  for (int iteration = 0; iteration < max_iterations; ++iteration) {
    const std::vector<double> weights = residual_weights(setting);
    double change = 0, largest = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double eps = best_prox(zeta, weights[i]);
      change = std::max(change, std::abs(eps - setting.prox[i]));
      largest = std::max(largest, eps);
      setting.prox[i] = eps;
    }
    // From eps = 0 the iterates only grow; past this size zeta tau ~ eps^2 outruns eps for good.
    if (!(largest < 1e9 * (1 + setting.smoothness))) return std::nullopt;
    if (change <= 1e-13 * largest)
      return TunedRate{setting.prox, residual_weights(setting), theorem_rate(setting, zeta)};
  }
  return std::nullopt;
}

std::optional<TunedRate> best_corollary_rate(const TheoremSetting& setting) {
  if (!(setting.strong_convexity > 0)) return std::nullopt;
  const double m = setting.strong_convexity, M = setting.smoothness;
  const double low = (m + M) / (2 * m * M);
  std::optional<TunedRate> best;
  for (int k = 1; k <= 400; ++k) {
    auto tried = corollary_rate(setting, low * std::pow(10.0, 0.01 * k));
    if (tried && (!best || tried->rate.eta > best->rate.eta)) best = std::move(tried);
  }
  return best;
}

}  // namespace grove
