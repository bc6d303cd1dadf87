#pragma once

#include <vector>

#include "grove/base/random.h"
#include "grove/network/graph.h"

namespace grove {

/// Each of the n(n-1)/2 pairs with the given probability in (0, 1]; takes O(agents + edges).
std::vector<Edge> erdos_renyi_edges(std::size_t agents, double probability, KeyedRandom& random);

/// Agents at random points of the unit square, linked when nearer than `radius` > 0; takes
/// O(agents + edges) where the radius is small.
std::vector<Edge> geometric_edges(std::size_t agents, double radius, KeyedRandom& random);

}  // namespace grove
