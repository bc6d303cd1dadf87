#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

#include "grove/data/digest.h"
#include "grove/peer/checkpoint.h"

namespace grove::peer {

/// The file that has this content: the checksum would hide the reader behind it from a fuzzer.
inline std::string file_with(std::string_view content) {
  Sha256 digest;
  digest.update(content);
  return std::string(checkpoint_format) + digest.finish() + std::string(content);
}

/// Bytes, as a file and as the content of one, are refused or read back as they were. Returns
/// whether the content was accepted. Shared by the fuzzer and the tests.
inline bool fuzz_checkpoint(std::string_view bytes) {
  const std::string file = file_with(bytes);
  for (const std::string_view one : {bytes, std::string_view(file)})
    if (const auto checkpoint = decode(one))
      if (encode(*checkpoint) != one) std::abort();
  return static_cast<bool>(decode(file));
}

}  // namespace grove::peer
