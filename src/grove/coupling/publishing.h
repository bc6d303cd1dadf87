#pragma once

/// What published weights of all forms have in common (docs/reference/link-weights.md).
namespace grove::publishing {

constexpr double ridge_share = 1e-3;  ///< of the Hessian's diagonal; 0.1 took 2-4 times the rounds
constexpr double first_drift_limit = 3;  ///< factor between published and present matrix
constexpr double usual_refreshes = 8;    ///< more than any run measured so far needed
constexpr double scale_limit = 2;        ///< a larger growth of the scale is published at once
constexpr double l1_zero_weight = 5;     ///< 3 to 10 did about as well on w8a, 1 and 30 worse
constexpr double blend = 0.5;            ///< share of the neighbours' weights in a published one

}  // namespace grove::publishing
