#pragma once

#include <optional>
#include <string>
#include <vector>

#include "grove/base/types.h"

namespace grove {

/// The quantities of Theorem 1. Grove runs on sum f_i + n r (math: section 1), so the constants are
/// those of the f_i themselves, without 1/n.
struct TheoremSetting {
  double strong_convexity = 0;          ///< m_f: no Hessian of an f_i has a smaller eigenvalue
  double smoothness = 0;                ///< M_f: nor a larger one
  double penalty = 0;                   ///< mu_z
  std::optional<double> theta_penalty;  ///< mu_theta; nothing: no regularizer, no theta
  double largest_degree = 0;
  double anchored_min = 0;        ///< sigma+_min: of L_s + e_q e_q'; without theta lambda_2 of L_s
  double unsigned_max = 0;        ///< sigma_max of L_u
  std::vector<double> prox;       ///< eps_i
  std::vector<double> remaining;  ///< c_i^E_i in [0, 1): share of the squared distance to the
                                  ///< sub-problem's solution that an activation leaves
};

/// M: Lipschitz constant of the gradient of the perturbed augmented Lagrangian.
double model_smoothness(const TheoremSetting& setting);

/// tau_i(E_i) of Lemma 4, eq. (19), without its factor M^2, for a given xi_i > 0.
double residual_weight(double remaining, double xi);

/// The xi that makes tau smallest: 1/sqrt(c^E) - 1, where residual_weight is
/// c^E / (1 - sqrt(c^E))^2. It only needs (1 + xi) c^E < 1, which is what the proof uses; the
/// printed range, xi < 1/c - 1, is narrower than that for E > 2.
double best_xi(double remaining);

/// tau_i of every agent at the best xi_i.
std::vector<double> residual_weights(const TheoremSetting& setting);

/// zeta may be chosen strictly between these; empty when low >= high.
struct ZetaRange {
  double low = 0;
  double high = 0;
  bool empty() const { return !(low < high); }
};
ZetaRange admissible_zeta(const TheoremSetting& setting);

/// One of the bounds whose minimum is eta.
struct RateTerm {
  std::string meaning;
  double bound = 0;
};

struct Rate {
  double zeta = 0;
  double eta = 0;
  std::vector<RateTerm> terms;

  /// 1 - eta p_min / (1 + eta)
  double contraction(double least_participation = 1) const {
    return 1 - eta * least_participation / (1 + eta);
  }
};

/// The largest eta for which every norm of the proof's inequality is covered, for any mu_z and
/// mu_theta. With mu_z = 2 mu_theta, which the proof assumes, it is eq. (22) as printed; otherwise
/// min(mu_z / 2, mu_theta) takes the place of mu_theta in the terms that come from the duals.
Rate theorem_rate(const TheoremSetting& setting, double zeta);

/// Eq. (22) to the letter. Only proven for mu_z = 2 mu_theta, while the paper's experiments use
/// mu_theta = 2 mu_z. Needs theta.
Rate printed_rate(const TheoremSetting& setting, double zeta);
bool printed_rate_applies(const TheoremSetting& setting);

/// theorem_rate at the zeta that makes eta largest; nothing when no zeta is admissible.
std::optional<Rate> best_theorem_rate(const TheoremSetting& setting);

}  // namespace grove
