#pragma once

#include <optional>

#include "grove/theory/theorem.h"

namespace grove {

struct TunedRate {
  std::vector<double> prox;              ///< eps_i of eq. (24)
  std::vector<double> residual_weights;  ///< tau_i at those eps_i
  Rate rate;
};

/// Corollary 1: eps_i = zeta tau_i + sqrt(zeta^2 tau_i^2 + tau_i), which makes the first term of
/// eta as large as it can be. tau_i holds M^2, and M holds max eps, so eq. (24) is an equation for
/// eps rather than a formula: the smallest solution is found from eps = 0 upwards. Where local work
/// is too little there is none, and the result is empty. The eps of `setting` are not looked at.
std::optional<TunedRate> corollary_rate(TheoremSetting setting, double zeta);

/// corollary_rate at the zeta, among 400 on a logarithmic grid, with the largest eta.
std::optional<TunedRate> best_corollary_rate(const TheoremSetting& setting);

}  // namespace grove
