#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "grove/base/result.h"

namespace grove {

// Both read one value for all, or `uniform:A:B` (drawn from [A, B) each) or `extreme:A:B` (a random
// half gets A, the rest B), from the seed.

/// How fast the simulated machine of every agent is, above 0; also `a,b,c,...`, one per agent.
Result<std::vector<double>> make_speeds(std::string_view description, std::size_t agents,
                                        std::uint64_t seed);

/// Seconds that a message is on its way, at least 0, by link.
Result<std::vector<double>> make_latencies(std::string_view description, std::size_t links,
                                           std::uint64_t seed);

}  // namespace grove
