#include "grove/theory/theorem.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace grove {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// 2 m_f M_f / (m_f + M_f)
double harmonic_mean(const TheoremSetting& setting) {
  const double m = setting.strong_convexity, M = setting.smoothness;
  return m > 0 ? 2 * m * M / (m + M) : 0;
}

/// (eps_i - zeta tau_i) / (tau_i + eps_i^2), the smallest over agents. Exact local solves
/// (tau = 0) leave 1 / eps_i, whatever zeta is.
double smallest_local_ratio(const TheoremSetting& setting, double zeta) {
  const std::vector<double> weights = residual_weights(setting);
  double smallest = infinity;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double eps = setting.prox[i], tau = weights[i];
    const double lost = tau > 0 ? zeta * tau : 0;
    const double spread = tau + eps * eps;
    if (spread > 0) smallest = std::min(smallest, (eps - lost) / spread);
  }
  return smallest;
}

Rate smallest_of(double zeta, std::vector<RateTerm> terms) {
  Rate rate{.zeta = zeta, .eta = infinity, .terms = std::move(terms)};
  for (const RateTerm& term : rate.terms) rate.eta = std::min(rate.eta, term.bound);
  return rate;
}

}  // namespace

double model_smoothness(const TheoremSetting& setting) {
  return setting.smoothness + setting.penalty * setting.largest_degree +
         setting.theta_penalty.value_or(0) + std::ranges::max(setting.prox);
}

double residual_weight(double remaining, double xi) {
  if (remaining == 0) return 0;
  const double left = 1 - (1 + xi) * remaining;
  return left > 0 ? (1 + 1 / xi) * remaining / left : infinity;
}

double best_xi(double remaining) { return 1 / std::sqrt(remaining) - 1; }

std::vector<double> residual_weights(const TheoremSetting& setting) {
  const double M = model_smoothness(setting);
  std::vector<double> weights;
  weights.reserve(setting.remaining.size());
  for (const double remaining : setting.remaining)
    weights.push_back(remaining < 1 ? M * M * residual_weight(remaining, best_xi(remaining))
                                    : infinity);
  return weights;
}

ZetaRange admissible_zeta(const TheoremSetting& setting) {
  ZetaRange range{.low = infinity, .high = infinity};
  if (const double mean = harmonic_mean(setting); mean > 0) range.low = 1 / mean;
  const std::vector<double> weights = residual_weights(setting);
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (weights[i] > 0) range.high = std::min(range.high, setting.prox[i] / weights[i]);
  return range;
}

Rate theorem_rate(const TheoremSetting& setting, double zeta) {
  assert(setting.prox.size() == setting.remaining.size());
  const double sigma = setting.anchored_min, sigma_u = setting.unsigned_max;
  const double mu = setting.penalty, mu_theta = setting.theta_penalty.value_or(infinity);
  const double dual = std::min(mu / 2, mu_theta);  // 1 / the larger weight of alpha and lambda
  const double weight = std::ranges::max(setting.prox) + mu * sigma_u / 2 +
                        (setting.theta_penalty ? 2 * mu_theta : 0);
  std::vector<RateTerm> terms = {
      {"local work: eps_i and tau_i", dual * sigma * smallest_local_ratio(setting, zeta) / 5},
      {"strong convexity", (harmonic_mean(setting) - 1 / zeta) / weight},
      {"smoothness against the penalty",
       2 * dual * sigma / (5 * (setting.strong_convexity + setting.smoothness))},
      {"graph: z", sigma_u > 0 ? 2 * dual * sigma / (5 * sigma_u * mu) : infinity}};
  if (setting.theta_penalty) {
    terms.push_back({"graph: theta", dual * sigma / (5 * mu_theta)});
    terms.push_back({"regularizer", 0.5});
  }
  return smallest_of(zeta, std::move(terms));
}

Rate printed_rate(const TheoremSetting& setting, double zeta) {
  assert(setting.theta_penalty);
  const double sigma = setting.anchored_min, sigma_u = setting.unsigned_max;
  const double mu_theta = setting.theta_penalty.value_or(0);
  const double m_plus_M = setting.strong_convexity + setting.smoothness;
  const double weight = std::ranges::max(setting.prox) + mu_theta * (sigma_u + 2);
  return smallest_of(zeta, {{"first", mu_theta * sigma * smallest_local_ratio(setting, zeta) / 5},
                            {"second", (harmonic_mean(setting) - 1 / zeta) / weight},
                            {"third", 2.0 / 5 * mu_theta * sigma / m_plus_M},
                            {"fourth", sigma / (5 * std::max(1.0, sigma_u))},
                            {"fifth", 0.5}});
}

bool printed_rate_applies(const TheoremSetting& setting) {
  return setting.theta_penalty &&
         std::abs(setting.penalty - 2 * *setting.theta_penalty) <= 1e-12 * setting.penalty;
}

/// The first term falls with zeta and the second rises, the others are constant: bisection finds
/// where they meet.
std::optional<Rate> best_theorem_rate(const TheoremSetting& setting) {
  const ZetaRange range = admissible_zeta(setting);
  if (range.empty()) return std::nullopt;
  double low = range.low;
  double high = std::isfinite(range.high) ? range.high : 1e12 * range.low;
  for (int step = 0; step < 200; ++step) {
    const double middle = std::sqrt(low) * std::sqrt(high);
    const Rate rate = theorem_rate(setting, middle);
    (rate.terms[1].bound < rate.terms[0].bound ? low : high) = middle;
  }
  return theorem_rate(setting, low);
}

}  // namespace grove
