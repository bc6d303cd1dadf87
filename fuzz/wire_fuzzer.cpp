#include <cstddef>
#include <cstdint>

#include "grove/peer/wire_fuzz.h"

/// Whatever a neighbour sends is refused or fit to be used.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  grove::peer::fuzz_wire({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
