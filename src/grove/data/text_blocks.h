#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "grove/base/result.h"

namespace grove {

/// Whole lines of a file, and the number (from 1) of the first of them.
struct TextBlock {
  std::string_view text;
  std::size_t first_line = 1;
};

struct TextOptions {
  /// Size of a block; a block is longer only where one line is.
  std::size_t block_bytes = std::size_t{4} << 20;
  /// Longest line of a compressed file or a pipe, which must be buffered whole.
  std::size_t line_bytes = std::size_t{256} << 20;
  /// Most text one compressed file may expand to. 64 GiB of LIBSVM text needs about as much memory
  /// when parsed, more than the machines this runs on have; a file that goes past it is a
  /// decompression bomb or cannot be trained on in one process anyway.
  std::uint64_t decompressed_bytes = std::uint64_t{64} << 30;
  /// The name whose ending tells the compression, where the file has another for the time being.
  std::filesystem::path named = {};
};

/// Called for every block in file order; an error stops the reading.
using BlockReader = std::function<Status(const TextBlock&)>;

/// Reads a file block by block. Regular files are mapped into memory; those named .bz2, .gz or .xz
/// and pipes are streamed. A truncated or damaged compressed file is an error, never a shorter
/// text. A UTF-8 byte order mark at the start is skipped.
Status read_blocks(const std::filesystem::path& path, const BlockReader& read,
                   const TextOptions& options = {});

/// The same for a text in memory.
Status read_text_blocks(std::string_view text, const BlockReader& read,
                        const TextOptions& options = {});

/// Cuts the first block off `rest`: at least `block_bytes`, up to the end of its last line. Blocks
/// of one text are independent, so they can be parsed in parallel.
std::string_view take_block(std::string_view& rest, std::size_t block_bytes);

/// Cuts the first line off `rest`, without its \n or \r\n.
std::string_view take_line(std::string_view& rest);

/// The name without .bz2, .gz or .xz.
std::filesystem::path without_compression(const std::filesystem::path& path);

/// `source:line: what`.
Error line_error(std::string_view source, std::size_t line, std::string what);

/// A token as messages show it: between backquotes, printable, and not too long.
std::string shown(std::string_view token);

/// Reads the number at the start of [at, end), with an optional plus sign. Returns where it ends,
/// or null where there is none or it does not fit a double; infinities and NaN are returned as
/// such.
const char* read_number(const char* at, const char* end, double& value);

}  // namespace grove
