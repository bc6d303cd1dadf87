#include "grove/base/printable.h"

#include <array>
#include <cstdint>

namespace grove {
namespace {

struct Decoded {
  std::uint32_t code = 0;  ///< the code point
  std::size_t bytes = 0;   ///< 0: the text does not begin with a UTF-8 character
};

/// The character that `text`, which is not empty, begins with.
Decoded first_character(std::string_view text) {
  const auto byte = [text](std::size_t k) -> std::uint32_t {
    return static_cast<unsigned char>(text[k]);
  };
  if (byte(0) < 0x80) return {byte(0), 1};
  const std::size_t bytes = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < bytes) return {};
  std::uint32_t code = byte(0) & (0x7Fu >> bytes);
  for (std::size_t k = 1; k < bytes; ++k) {
    if ((byte(k) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(k) & 0x3F);
  }
  constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < least[bytes] || code > 0x10FFFF || surrogate) return {};
  return {code, bytes};
}

/// Whether the character moves the cursor, changes colours or the direction of writing, or breaks
/// the line.
bool changes_display(std::uint32_t code) {
  const auto within = [code](std::uint32_t low, std::uint32_t high) {
    return low <= code && code <= high;
  };
  return code < 0x20 || within(0x7F, 0x9F) || within(0x200E, 0x200F) || within(0x2028, 0x202E) ||
         within(0x2066, 0x2069);
}

}  // namespace

std::string printable(std::string_view text, std::size_t characters) {
  std::string result;
  for (std::size_t taken = 0; !text.empty(); ++taken) {
    if (taken == characters) return result + "...";
    const Decoded next = first_character(text);
    if (next.bytes == 0 || changes_display(next.code))
      result += '?';
    else
      result += text.substr(0, next.bytes);
    text.remove_prefix(next.bytes == 0 ? 1 : next.bytes);
  }
  return result;
}

std::size_t first_not_utf8(std::string_view text) {
  for (std::size_t place = 0; place < text.size();) {
    const std::size_t bytes = first_character(text.substr(place)).bytes;
    if (bytes == 0) return place;
    place += bytes;
  }
  return std::string_view::npos;
}

}  // namespace grove
