#pragma once

#include <cstdint>
#include <string>

#include "grove/base/result.h"
#include "grove/network/graph.h"

namespace grove {

/// Reads `erdos-renyi:P`, `geometric:RADIUS`, `ring`, `path`, `star`, `grid`, `complete`, or the name
/// of a file with `i j` per line (# starts a comment), and draws the graph. Random graphs are
/// redrawn until connected (with the next sub-key of the seed); after 1000 refusals it is an error
/// that names the probability or radius that would do.
Result<Graph> make_graph(const std::string& description, std::size_t agents, std::uint64_t seed);

}  // namespace grove
