#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace grove {

/// `text` as a terminal or a log can show it without harm. Valid UTF-8 stays as it is. Control
/// characters, marks that change the direction of writing, and bytes that are not UTF-8 become '?'.
/// At most `characters` characters are kept; a longer text ends in "...".
std::string printable(std::string_view text,
                      std::size_t characters = std::numeric_limits<std::size_t>::max());

/// Where the first byte is that belongs to no UTF-8 character; npos: there is none.
std::size_t first_not_utf8(std::string_view text);

}  // namespace grove
