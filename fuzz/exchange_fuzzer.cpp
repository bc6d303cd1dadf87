#include <cstddef>
#include <cstdint>

#include "grove/peer/exchange_fuzz.h"

/// Whatever a neighbour makes of its messages, a peer stays usable.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  grove::peer::fuzz_exchange({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
