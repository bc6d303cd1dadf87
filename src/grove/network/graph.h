#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "grove/base/result.h"
#include "grove/base/types.h"

namespace grove {

using Edge = std::pair<AgentId, AgentId>;  ///< first < second

/// A connected, simple, undirected graph: what the agents may say to whom.
class Graph {
 public:
  /// Refuses self-loops, repeated edges, unknown agents and disconnected graphs; the error's
  /// `where` is `source` (a flag or a file), and it names the agents.
  static Result<Graph> from_edges(std::size_t agents, std::vector<Edge> edges, std::string source);

  std::size_t agents() const { return offsets_.size() - 1; }
  std::span<const Edge> edges() const { return edges_; }                   ///< sorted
  std::span<const AgentId> neighbours(AgentId agent) const;                ///< sorted
  std::size_t degree(AgentId agent) const { return neighbours(agent).size(); }

 private:
  std::vector<Edge> edges_;
  std::vector<std::size_t> offsets_;
  std::vector<AgentId> adjacent_;
};

}  // namespace grove
