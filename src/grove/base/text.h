#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace grove {

/// The whole of `text` as a number, or nothing: no leading or trailing rest, no locale.
std::optional<double> parse_double(std::string_view text);
std::optional<std::int64_t> parse_integer(std::string_view text);

std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);

/// The shortest text that reads back as exactly `value`.
std::string exact(double value);

/// The candidate that is fewest edits away from `word`, if it is near enough to be a likely typo.
std::string lowercase(std::string_view text);  ///< of ASCII letters

std::optional<std::string> closest(std::string_view word, std::span<const std::string> candidates);

}  // namespace grove
