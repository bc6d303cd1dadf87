#pragma once

#include <cstdint>
#include <functional>

#include "grove/base/types.h"

namespace grove {

/// What differential privacy promises of a row (Dwork and Roth, The Algorithmic Foundations of
/// Differential Privacy, 2014): with and without it, every set of outcomes has the same probability
/// but for a factor of e^epsilon and a term delta.
struct PrivacyLoss {
  double epsilon = 0, delta = 0;
};

/// The mu of Gaussian differential privacy: telling apart the answers with and without a row is as
/// hard as telling apart normal numbers with means 0 and mu from one draw. The squares of mu add up
/// over answers, also where later questions depend on earlier answers (Dong, Roth and Su, Gaussian
/// differential privacy, J. R. Stat. Soc. B 84, 2022, corollaries 1 and 2 and theorem 4).
double mu_of(const PrivacyLoss& loss);
double delta_of(double mu, double epsilon);  ///< the least
double epsilon_of(double mu, double delta);  ///< the least

/// The standard deviation of normal noise on numbers of which a row changes this much, in Euclidean
/// norm, so that the answer costs mu.
inline double noise_deviation(double sensitivity, double mu) { return sensitivity / mu; }

/// Independent standard normal numbers for the n-th answer of a member.
using NormalNoise = std::function<Vector(Index size, std::uint64_t answer)>;
NormalNoise system_noise();  ///< of the system's generator: never the same twice
/// Repeatable. It hides nothing from those who know the seed.
NormalNoise simulated_noise(std::uint64_t seed, AgentId agent);

}  // namespace grove
