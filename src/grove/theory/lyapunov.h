#pragma once

#include <optional>
#include <span>
#include <vector>

#include "grove/network/graph.h"

namespace grove {

/// v of Theorem 1. With every agent active z = (x_i + x_j) / 2 at all times (Lemma 1).
struct NetworkState {
  std::vector<Vector> x;                ///< by agent
  std::vector<Vector> z;                ///< by edge, in the order of graph.edges()
  std::vector<Vector> alpha;            ///< by edge: dual variable of x_i = x_j, i < j
  std::optional<Vector> theta, lambda;  ///< where a regularizer is held
};

/// The diagonal of H P^-1 in Theorem 1.
struct LyapunovWeights {
  double penalty = 0;                 ///< mu_z
  double theta_penalty = 0;           ///< mu_theta, where there is a theta
  std::vector<double> prox;           ///< eps_i
  std::vector<double> participation;  ///< p_i. P is printed for agents only: a link counts with the
                                      ///< probability that either end is active, theta with p_q
  AgentId holder;                     ///< q
};

NetworkState start_state(const Graph& graph, const Vector& start, bool regularized);

/// Repeats what a round (eq. 9b to 9d) does to z and the dual variables when the agents `active`
/// have moved to x: each active end moves z halfway to itself, and alpha by mu_z times as much.
void follow_round(const Graph& graph, const LyapunovWeights& weights, std::vector<Vector> x,
                  const Vector* theta, const std::vector<bool>& active, NetworkState& state);

/// The saddle point: x = x*, lambda* = -sum grad f_i(x*), and the alpha* in the range of E_s with
/// E_s' alpha* = -grad f(x*) - S lambda*. `gradients` are those of the f_i at x*.
NetworkState optimal_state(const Graph& graph, const Vector& x, std::span<const Vector> gradients,
                           std::optional<AgentId> holder);

/// |v - v*|^2 in the norm of H P^-1, eq. (20).
double lyapunov(const Graph& graph, const LyapunovWeights& weights, const NetworkState& state,
                const NetworkState& optimum);

}  // namespace grove
