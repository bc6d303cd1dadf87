#pragma once

namespace grove {

/// The paper's stand-in for Corollary 1 (its section V): eps_i from the work load alone, for when
/// the constants of Corollary 1 are unknown. More work, smaller eps_i.
struct TunedProxRule {
  double contraction = 0.98;  ///< c in (0, 1), of one local step
  double zeta = 5e-3;         ///< >= 0, with (1 + zeta) c < 1
  double mean_work = 10;      ///< Ebar >= 1: the work load that keeps the base weight
};

/// Whether the rule gives a positive weight for every work load of at least one step.
bool valid(const TunedProxRule& rule);

/// eps_i = base c^(E_i - Ebar) [1 - (1+zeta) c^Ebar] / [1 - (1+zeta) c^E_i]
double tuned_prox(const TunedProxRule& rule, double base, int work);

}  // namespace grove
