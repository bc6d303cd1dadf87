#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

#include "grove/peer/checkpoint.h"
#include "grove/train/checkpoint_file.h"

namespace grove::peer {

/// A file with this content and a correct checksum, so that a fuzzer gets past the checksum.
inline std::string file_with(std::string_view content) {
  return seal_checkpoint(CheckpointKind::peer, "", std::string(content));
}

/// Decodes the bytes as a file and as the content of a file. Both must be rejected or encoded to
/// the same bytes again. Returns whether the content was accepted. The fuzzer and the tests use it.
inline bool fuzz_checkpoint(std::string_view bytes) {
  const std::string file = file_with(bytes);
  for (const std::string_view one : {bytes, std::string_view(file)})
    if (const auto checkpoint = decode(one))
      if (encode(*checkpoint) != one) std::abort();
  return static_cast<bool>(decode(file));
}

}  // namespace grove::peer
