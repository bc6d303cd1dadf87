#pragma once

#include <cstdint>
#include <vector>

#include "grove/base/result.h"

namespace grove::peer {

/// Ports of the loopback address nobody listens on right now, below the range that the system hands
/// out to outgoing connections, so that they stay free.
Result<std::vector<std::uint16_t>> free_ports(std::size_t count);

}  // namespace grove::peer
