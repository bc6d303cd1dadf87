#include <cstddef>
#include <cstdint>

#include "grove/peer/checkpoint_fuzz.h"

/// Any bytes are rejected or encoded to the same bytes again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  grove::peer::fuzz_checkpoint({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
