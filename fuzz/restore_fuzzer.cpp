#include <cstddef>
#include <cstdint>

#include "grove/peer/restore_fuzz.h"

/// Any contents of a checkpoint are rejected or usable.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  grove::peer::fuzz_restore({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
