#pragma once

#include <cstdint>
#include <optional>

#include "grove/network/graph.h"

namespace grove {

/// Links that an agent has on average in a subset, and those that it keeps at least, if it has so
/// many.
constexpr std::size_t subset_degree = 8, least_subset_degree = 4;
/// Graphs up to this mean degree are left as they are.
constexpr std::size_t largest_sparse_degree = 12;

/// A connected subset of the links of a graph that is denser: nearly regular, and drawn evenly from
/// all links, so that it expands as the graph does. It is a function of the graph and the seed;
/// nothing is returned where the graph is sparse. Mixing weights are not kept.
std::optional<Graph> sparse_subset(const Graph& graph, std::uint64_t seed);

}  // namespace grove
