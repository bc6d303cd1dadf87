#pragma once

#include <cstdint>
#include <string>

#include "grove/base/result.h"
#include "grove/network/graph.h"

namespace grove {

/// Reads `erdos-renyi:P`, `geometric:RADIUS` (points in the unit square), `ring`, `path`, `star`,
/// `grid` (near square, the last row may be short), `complete`, or the name of a file with `i j`
/// per line (# starts a comment), and draws the graph. Random graphs are redrawn until connected
/// (with the next sub-key of the seed); after 1000 refusals, or at once where isolated agents make
/// a connected draw all but impossible, it is an error that names a probability or radius that
/// would do. Errors name `--graph`, or the file and line.
Result<Graph> make_graph(const std::string& description, std::size_t agents, std::uint64_t seed);

}  // namespace grove
