#include <cstddef>
#include <cstdint>

#include "grove/data/digest.h"
#include "grove/runtime/peer/checkpoint.h"
#include "require.h"

/// Any bytes are refused or read back as they were. The checksum would hide the reader behind it
/// from the fuzzer, so the bytes are also given as content under a right checksum.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view content(reinterpret_cast<const char*>(bytes), size);
  grove::Sha256 digest;
  digest.update(content);
  const std::string file =
      std::string(grove::peer::checkpoint_format) + digest.finish() + std::string(content);
  for (const std::string_view one : {content, std::string_view(file)})
    if (const auto checkpoint = grove::peer::decode(one))
      if (grove::peer::encode(*checkpoint) != one) grove::require_no_flaw("read back differently");
  return 0;
}
