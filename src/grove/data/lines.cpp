#include "grove/data/lines.h"

#include <fmt/format.h>

#include "grove/base/printable.h"

namespace grove {

std::string_view take_line(std::string_view& rest) {
  const std::size_t line_end = rest.find('\n');
  std::string_view line = rest.substr(0, line_end);
  rest.remove_prefix(line_end == std::string_view::npos ? rest.size() : line_end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

Error line_error(std::string_view source, std::size_t line, std::string what) {
  return Error{fmt::format("{}:{}", source, line), std::move(what)};
}

std::string shown(std::string_view token) {
  constexpr std::size_t characters = 40;
  return "`" + printable(token, characters) + "`";
}

}  // namespace grove
