#pragma once

#include <optional>
#include <vector>

#include "grove/network/graph.h"

namespace grove {

/// The setting whose linearized local model is judged.
struct LinearizedSetting {
  double penalty = 0;             ///< mu
  double theta_penalty = 0;       ///< mu_theta
  std::optional<AgentId> holder;  ///< q, if anyone holds a regularizer
  std::vector<double> prox;       ///< eps_i of every agent
};

struct LinearizedStability {
  bool guaranteed = false;         ///< diag(eps) >= (mu/2) L_s + mu_theta S S'
  double needed_prox = 0;          ///< the eps, common to all agents, from which it is guaranteed
  std::vector<AgentId> offending;  ///< agents below mu deg_i + [i=q] mu_theta, when not guaranteed
};

/// Whether several linearized local steps are stable for every convex f (math: section 2).
/// Exact up to 400 agents; beyond, by the local sufficient condition.
LinearizedStability linearized_stability(const Graph& graph, const LinearizedSetting& setting);

}  // namespace grove
