#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include "grove/base/result.h"

namespace grove {

enum class Compression { none, bzip2, gzip, xz };

/// What the ending of the name says: .bz2, .gz, .xz or none of them.
Compression compression_of(const std::filesystem::path& name);

/// The text of a compressed file or a pipe, a piece at a time.
class TextStream {
 public:
  virtual ~TextStream() = default;

  /// Fills the buffer as far as the text goes; 0 at its end. A truncated or damaged file, or bytes
  /// after the end of the compressed data, is an error here, never an early end.
  virtual Result<std::size_t> read(char* buffer, std::size_t size) = 0;
};

/// Reads an open file, which stays the caller's to close; `path` is for messages.
Result<std::unique_ptr<TextStream>> open_stream(const std::filesystem::path& path, int file,
                                                Compression compression);

}  // namespace grove
