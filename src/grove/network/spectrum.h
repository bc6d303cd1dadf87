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
Spectrum laplacian_spectrum(const Graph& graph);

/// Metropolis weights: W_ij = 1 / (1 + max(deg_i, deg_j)) for neighbours, rows sum to one.
/// Returned in the order of graph.neighbours(agent).
std::vector<double> metropolis_weights(const Graph& graph, AgentId agent);

}  // namespace grove
