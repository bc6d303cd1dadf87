#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grove/base/result.h"
#include "grove/base/spec.h"
#include "grove/network/graph.h"

namespace grove {

/// What a topology is made from. `arguments` is the text after the colon; empty without one.
struct TopologyRequest {
  std::string_view arguments;
  std::size_t agents = 1;
  std::uint64_t seed = 1;
};

/// One row of the registry of topologies.
struct Topology {
  std::string name;  ///< as --graph takes it, before the colon
  std::string form;  ///< with its arguments, as help shows it: "erdos-renyi:P"
  /// A connected graph, or an error that names `--graph`.
  std::function<Result<Graph>(const TopologyRequest&)> make;
};

/// `erdos-renyi:P`, `geometric:RADIUS` (points in the unit square), `ring`, `path`, `star`, `grid`
/// (near square, the last row may be short) and `complete`. Random graphs are redrawn until
/// connected (with the next sub-key of the seed); after 1000 refusals, or at once where isolated
/// agents make a connected draw all but impossible, it is an error that names a probability or
/// radius that would do. A graph that would have more than fifty million edges is refused before
/// any is made.
std::vector<Topology> built_in_topologies();

/// A topology with its arguments, or a file (graph_file.h).
struct GraphChoice {
  /// Looks the name up among the built-in topologies.
  static Result<GraphChoice> parse(std::string_view text);
  static Result<GraphChoice> parse(std::string_view text, std::span<const Topology> topologies);

  std::string text;
  std::optional<Topology> topology;  ///< nothing: the text names a file
};
using GraphSpec = Spec<GraphChoice>;

/// Draws or reads the graph. Errors name `--graph`, or the file and line.
Result<Graph> make_graph(const GraphSpec& spec, std::size_t agents, std::uint64_t seed);

}  // namespace grove
