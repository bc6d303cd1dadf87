#pragma once

#include <memory>

#include <spdlog/formatter.h>

namespace grove::peer {

/// Writes every message of a log as one JSON object on a line: `time` (UTC), `level`, `text`, and
/// what the text names as key=value, in `fields`.
std::unique_ptr<spdlog::formatter> json_log_formatter();

}  // namespace grove::peer
