#pragma once

#include <optional>
#include <string>
#include <vector>

#include "grove/theory/corollary.h"
#include "grove/theory/lyapunov.h"
#include "grove/theory/stability.h"
#include "grove/train/run.h"

namespace grove::experiments {

/// Theorem 1 and Corollary 1 evaluated on an instance, next to the contraction of a run.
struct TheoryReport {
  TheoremSetting setting;  ///< constants; m_f and M_f from Hessians at the iterates and the optimum
  double smoothness_everywhere = 0;        ///< M_f over all of R^d
  double strong_convexity_everywhere = 0;  ///< m_f over all of R^d, as far as it is known
  bool penalty_chosen = false;             ///< mu_z was left to Grove
  bool coupled = true;          ///< there are links or a theta, which the theorem is about
  bool all_worked = true;       ///< every agent was active at least once
  double model_smoothness = 0;  ///< M
  std::vector<double> tau;      ///< by agent
  ZetaRange zeta;
  std::optional<Rate> rate;     ///< proven for these parameters
  std::optional<Rate> printed;  ///< eq. (22) to the letter, at the same zeta
  std::optional<TunedRate> tuned;
  LinearizedStability linearized;
  double least_participation = 1;
  std::vector<int> work_loads;

  Round rounds = 0;
  std::vector<double> lyapunov;  ///< |v^t - v*|^2, t = 0, 1, ...; empty without an optimum
  double worst_contraction = 0;  ///< largest lyapunov[t+1] / lyapunov[t]
  double mean_contraction = 0;   ///< geometric mean of them

  std::vector<std::string> violations;  ///< assumptions that this instance or run does not meet
};

/// Runs `config` (a method of the DRUID family on broadcast links) round by round, solves every
/// sub-problem exactly next to the agents' own steps, and tracks the dual variables.
Result<TheoryReport> examine(Config config, const RunHooks& hooks = {});
/// The same on a prepared problem.
Result<TheoryReport> examine(Config config, const PreparedProblem& problem,
                             const RunHooks& hooks = {});

std::string text_of(const TheoryReport& report);
nlohmann::json to_json(const TheoryReport& report);

}  // namespace grove::experiments
