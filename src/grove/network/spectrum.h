#pragma once

#include <vector>

#include "grove/network/graph.h"

namespace grove {

/// Eigenvalues that govern convergence: of the signed Laplacian L_s = D - A.
struct Spectrum {
  double lambda_max = 0;
  double lambda_2 = 0;  ///< algebraic connectivity: > 0 because the graph is connected
};

/// Dense for small graphs, Lanczos (Spectra) beyond; at least 8 correct digits either way.
/// A single agent has no links and gives zeros.
Spectrum laplacian_spectrum(const Graph& graph);

/// Largest eigenvalue of the unsigned Laplacian L_u = D + A: Theorem 1's sigma_max of L_u.
double unsigned_laplacian_max(const Graph& graph);

/// Smallest eigenvalue of L_s + e_q e_q', q = `anchor` being the agent that holds the regularizer.
/// It is Theorem 1's sigma+_min: the smallest positive eigenvalue of [E_s; S'] [E_s' S], whose
/// non-zero spectrum is that of [E_s' S] [E_s; S'] = L_s + e_q e_q'.
double anchored_laplacian_min(const Graph& graph, AgentId anchor);

/// Metropolis weights: W_ij = 1 / (1 + max(deg_i, deg_j)) for neighbours, rows sum to one.
/// Returned in the order of graph.neighbours(agent).
std::vector<double> metropolis_weights(const Graph& graph, AgentId agent);

/// The graph's own mixing weights where it has some, else Metropolis weights; in the same order.
std::vector<double> mixing_weights(const Graph& graph, AgentId agent);

}  // namespace grove
