#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "grove/base/result.h"

namespace grove {

/// Cuts the first line off `rest`, without its \n or \r\n.
std::string_view take_line(std::string_view& rest);

/// `source:line: what`.
Error line_error(std::string_view source, std::size_t line, std::string what);

/// A token as messages show it: between backquotes, printable, and not too long.
std::string shown(std::string_view token);

}  // namespace grove
