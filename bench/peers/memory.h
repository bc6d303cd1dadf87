#pragma once

#include <string>

#include "grove/base/types.h"

namespace grove::bench {

struct PeerMemory {
  double idle_bytes = 0;     ///< resident, of a peer with little data and no neighbour
  double working_bytes = 0;  ///< resident, of a working peer: median over some seconds
  double peak_bytes = 0;     ///< maximum of the resident memory
  double needed_bytes = 0;   ///< its data and 4 + 3 degree vectors
};

/// Measures real processes of the program, with d = `dimension` and three neighbours each.
PeerMemory measure_memory(const std::string& program, Index dimension);

}  // namespace grove::bench
