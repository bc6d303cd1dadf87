#include <cstddef>
#include <cstdint>

#include "grove/peer/wire_fuzz.h"

/// Any message of a neighbour is rejected or usable.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  grove::peer::fuzz_wire({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
