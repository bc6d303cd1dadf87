#pragma once

#include <string>
#include <string_view>

#include "grove/base/result.h"
#include "grove/network/graph.h"

namespace grove {

/// A graph written as `i j` per line, or with its mixing matrix as `i j weight`; # starts a
/// comment. Every edge stands once, and either all lines have a weight or none has. Errors name the
/// file and line.
Result<Graph> parse_graph(std::string_view text, std::size_t agents, const std::string& file);
Result<Graph> read_graph_file(const std::string& file, std::size_t agents);

}  // namespace grove
