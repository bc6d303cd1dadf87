#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "grove/base/result.h"

namespace grove {

/// Writes `content` to a new file without a name, flushes it to disk and puts it in place: a reader
/// sees the old file or the whole new one, never a part, and a process that dies while writing
/// leaves nothing behind. (Where the file system knows no nameless files, the new one has a
/// temporary name beside `path`.) A symbolic link stays and what it points to is written; a device
/// or pipe stays and is written to.
Status write_file_atomically(const std::filesystem::path& path, std::string_view content);

/// Whether write_file_atomically may succeed there, as far as can be known beforehand.
Status check_writable(const std::filesystem::path& path);

Result<std::string> read_file(const std::filesystem::path& path);

}  // namespace grove
