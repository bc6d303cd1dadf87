#include "grove/network/spectrum.h"

#include <algorithm>
#include <cmath>

#include "grove/base/eigenvalues.h"
#include "grove/network/lanczos.h"

namespace grove {
namespace {

constexpr Index dense_limit = 400;

/// D + sign A: the signed Laplacian for -1, the unsigned one for +1.
SparseMatrix laplacian(const Graph& graph, double sign) {
  const auto size = static_cast<Index>(graph.agents());
  std::vector<Eigen::Triplet<double>> entries;
  entries.reserve(graph.agents() + 2 * graph.edges().size());
  for (std::uint32_t agent = 0; agent < graph.agents(); ++agent) {
    const auto neighbours = graph.neighbours(AgentId{agent});
    entries.emplace_back(agent, agent, static_cast<double>(neighbours.size()));
    for (const AgentId neighbour : neighbours) entries.emplace_back(agent, neighbour.value, sign);
  }
  SparseMatrix matrix(size, size);
  matrix.setFromTriplets(entries.begin(), entries.end());
  return matrix;
}

/// All eigenvalues, ascending.
Vector dense_eigenvalues(const SparseMatrix& matrix) {
  return symmetric_eigenvalues(Matrix(matrix));
}

}  // namespace

Spectrum laplacian_spectrum(const Graph& graph) {
  if (graph.agents() == 1) return {};
  const SparseMatrix matrix = laplacian(graph, -1);
  if (matrix.rows() > dense_limit)
    return {.lambda_max = largest_eigenvalue(matrix),
            .lambda_2 = second_smallest_eigenvalue(matrix)};
  const Vector eigenvalues = dense_eigenvalues(matrix);
  return {.lambda_max = eigenvalues[eigenvalues.size() - 1], .lambda_2 = eigenvalues[1]};
}

double unsigned_laplacian_max(const Graph& graph) {
  const SparseMatrix matrix = laplacian(graph, +1);
  return matrix.rows() > dense_limit ? largest_eigenvalue(matrix)
                                     : dense_eigenvalues(matrix).maxCoeff();
}

double anchored_laplacian_min(const Graph& graph, AgentId anchor) {
  SparseMatrix matrix = laplacian(graph, -1);
  matrix.coeffRef(anchor.value, anchor.value) += 1;
  return matrix.rows() > dense_limit ? smallest_eigenvalue(matrix)
                                     : dense_eigenvalues(matrix).minCoeff();
}

std::vector<double> metropolis_weights(const Graph& graph, AgentId agent) {
  std::vector<double> weights;
  for (const AgentId neighbour : graph.neighbours(agent)) {
    const std::size_t larger = std::max(graph.degree(agent), graph.degree(neighbour));
    weights.push_back(1.0 / (1.0 + static_cast<double>(larger)));
  }
  return weights;
}

std::vector<double> mixing_weights(const Graph& graph, AgentId agent) {
  if (graph.mixing().empty()) return metropolis_weights(graph, agent);
  std::vector<double> weights;
  for (const AgentId neighbour : graph.neighbours(agent)) {
    const Edge edge{std::min(agent, neighbour), std::max(agent, neighbour)};
    const auto found = std::ranges::lower_bound(graph.edges(), edge);
    weights.push_back(graph.mixing()[static_cast<std::size_t>(found - graph.edges().begin())]);
  }
  return weights;
}

}  // namespace grove
