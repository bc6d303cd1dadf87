#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "grove/base/result.h"

namespace grove {

/// Writes `content` beside `path` under a temporary name, flushes it to disk and renames it into
/// place: a reader sees the old file or the whole new one, never a part.
Status write_file_atomically(const std::filesystem::path& path, std::string_view content);

Result<std::string> read_file(const std::filesystem::path& path);

}  // namespace grove
