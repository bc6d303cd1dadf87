#include <cstddef>
#include <cstdint>

#include "grove/peer/restore_fuzz.h"

/// Whatever stands in a checkpoint is refused or fit to go on with.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  grove::peer::fuzz_restore({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
