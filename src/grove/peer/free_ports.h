#pragma once

#include <cstdint>
#include <vector>

#include "grove/base/result.h"

namespace grove::peer {

/// Finds free ports of the loopback address. They lie below the range that the system uses for
/// outgoing connections, so they stay free.
Result<std::vector<std::uint16_t>> free_ports(std::size_t count);

}  // namespace grove::peer
