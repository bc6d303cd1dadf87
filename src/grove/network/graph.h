#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "grove/base/result.h"
#include "grove/base/types.h"

namespace grove {

using Edge = std::pair<AgentId, AgentId>;  ///< first < second

/// A connected, simple, undirected graph: what the agents may say to whom. One agent alone, without
/// edges, is a connected graph.
class Graph {
 public:
  /// Refuses self-loops, repeated edges (in either direction), unknown agents and disconnected
  /// graphs; the error's `where` is `source` (a flag or a file), and it names the agents. `lines`
  /// (empty, or one per edge) are the edges' line numbers in `source`, to name in errors.
  static Result<Graph> from_edges(std::size_t agents, std::vector<Edge> edges, std::string source,
                                  std::span<const std::size_t> lines = {});

  /// The same graph with a mixing matrix W: `weights` are W_ij of the edges in sorted order.
  /// W is symmetric, and W_ii = 1 - sum_j W_ij. Refuses weights that are not positive, rows that
  /// sum to more than one, and a matrix with the eigenvalue -1.
  static Result<Graph> with_mixing(Graph graph, std::vector<double> weights, std::string source);

  /// W_ij of every edge, in their order; empty: none were given, and methods use Metropolis
  /// weights.
  std::span<const double> mixing() const { return mixing_; }

  std::size_t agents() const { return offsets_.size() - 1; }
  std::span<const Edge> edges() const { return edges_; }     ///< sorted
  std::span<const AgentId> neighbours(AgentId agent) const;  ///< sorted
  std::size_t degree(AgentId agent) const { return neighbours(agent).size(); }

 private:
  Graph(std::size_t agents, std::vector<Edge> sorted_edges);

  std::vector<Edge> edges_;
  std::vector<std::size_t> offsets_;
  std::vector<AgentId> adjacent_;
  std::vector<double> mixing_;
};

}  // namespace grove
