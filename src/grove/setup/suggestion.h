#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace grove {

/// The known names that `word`, which is none of them, may stand for: the names of the same setting
/// in other programs, or else the nearest name by edit distance. Empty: none is likely.
std::vector<std::string> similar_names(std::string_view word, std::span<const std::string> known);

/// "; did you mean --l1 or --l2?", with `prefix` before each name; empty without a likely name.
std::string suggestion(std::string_view word, std::span<const std::string> known,
                       std::string_view prefix = "");

}  // namespace grove
