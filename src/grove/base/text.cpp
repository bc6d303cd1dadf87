#include "grove/base/text.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace grove {
namespace {

template <class Number>
std::optional<Number> parse_whole(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

std::optional<double> parse_double(std::string_view text) { return parse_whole<double>(text); }
std::optional<std::int64_t> parse_integer(std::string_view text) {
  return parse_whole<std::int64_t>(text);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string lowercase(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower)
    if ('A' <= letter && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return lower;
}

std::string exact(double value) { return fmt::format("{}", value); }

std::optional<std::string> closest(std::string_view word, std::span<const std::string> candidates) {
  const auto nearest = std::ranges::min_element(
      candidates, {}, [&](const std::string& c) { return edit_distance(word, c); });
  if (nearest == candidates.end()) return std::nullopt;
  // A word of one or two letters is near to everything.
  const std::size_t edits = std::min(std::max<std::size_t>(2, word.size() / 3), word.size() / 2);
  if (edit_distance(word, *nearest) > edits) return std::nullopt;
  return *nearest;
}

}  // namespace grove
