#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "grove/base/result.h"
#include "grove/base/types.h"

namespace grove {

using Edge = std::pair<AgentId, AgentId>;  ///< first < second

/// A connected, simple, undirected communication graph. One agent without edges is connected.
class Graph {
 public:
  /// Refuses self-loops, repeated edges (in either direction), unknown agents and disconnected
  /// graphs; the error's `where` is `source` (a flag or a file), and it names the agents. `lines`
  /// (empty, or one per edge) are the edges' line numbers in `source`, to name in errors.
  static Result<Graph> from_edges(std::size_t agents, std::vector<Edge> edges, std::string source,
                                  std::span<const std::size_t> lines = {});

  std::size_t agents() const { return offsets_.size() - 1; }
  std::span<const Edge> edges() const { return edges_; }     ///< sorted
  std::span<const AgentId> neighbours(AgentId agent) const;  ///< sorted
  std::size_t degree(AgentId agent) const { return neighbours(agent).size(); }
  /// Position of a neighbour in neighbours(agent).
  std::size_t slot_of(AgentId agent, AgentId neighbour) const;

 private:
  Graph(std::size_t agents, std::vector<Edge> sorted_edges);

  std::vector<Edge> edges_;
  std::vector<std::size_t> offsets_;
  std::vector<AgentId> adjacent_;
};

}  // namespace grove
