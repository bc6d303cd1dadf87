#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "grove/base/result.h"

namespace grove {

/// Whole lines of a text. Movable: the view stays good.
struct TextBlock {
  std::string_view text;
  std::vector<char> owned = {};  ///< what `text` shows, where it came from a stream
};

struct TextOptions {
  /// Size of a block; a block is longer only where one line is. An eighth of a mebibyte keeps the
  /// text and what is parsed from it in a core's own cache, and shares a small file out evenly.
  std::size_t block_bytes = std::size_t{128} << 10;
  /// Longest line of a compressed file or a pipe, which must be buffered whole.
  std::size_t line_bytes = std::size_t{256} << 20;
  /// Most text one compressed file may expand to. 64 GiB of LIBSVM text needs about as much memory
  /// when parsed, more than the machines this runs on have; a file that goes past it is a
  /// decompression bomb or cannot be trained on in one process anyway.
  std::uint64_t decompressed_bytes = std::uint64_t{64} << 30;
  /// The name whose ending states the compression, where the file has another for the time being.
  std::filesystem::path named = {};
};

/// A text in blocks, in order. A UTF-8 byte order mark at its start is left out.
class BlockSource {
 public:
  virtual ~BlockSource() = default;

  /// The next block; an empty one at the end. A block is good as long as its source.
  virtual Result<TextBlock> next() = 0;
};

/// Opens a file. Regular files are mapped into memory; those named .bz2, .gz or .xz and pipes are
/// streamed. A truncated or damaged compressed file, or one that becomes shorter while it is read,
/// is an error of next(), never a shorter text.
Result<std::unique_ptr<BlockSource>> open_blocks(const std::filesystem::path& path,
                                                 const TextOptions& options = {});

/// The blocks of a text in memory, which must outlive them.
std::unique_ptr<BlockSource> blocks_of(std::string_view text, const TextOptions& options = {});

/// The name without .bz2, .gz or .xz.
std::filesystem::path without_compression(const std::filesystem::path& path);

}  // namespace grove
