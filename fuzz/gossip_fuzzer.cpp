#include <cstddef>
#include <cstdint>

#include "grove/peer/gossip_fuzz.h"

/// Whatever a member makes of its part of a fit or of its contribution, the others stay usable.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  grove::peer::fuzz_gossip({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
