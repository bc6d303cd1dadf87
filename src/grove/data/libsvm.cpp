#include "grove/data/libsvm.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "grove/base/text.h"
#include "grove/data/lines.h"
#include "grove/data/number.h"

namespace grove {
namespace {

/// Every agent keeps several vectors as long as the largest index, 0.8 GB each at this one; the
/// widest public sets have half as many features. Beyond, an index is a mistake that would take all
/// memory.
constexpr std::int32_t largest_index = 100'000'000;
constexpr std::ptrdiff_t most_index_digits = 19;  // with leading zeros; more might overflow

/// What is wrong with a line; nothing if it is right.
using Complaint = std::optional<std::string>;

bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// What is left of a line, read from the front.
struct Cursor {
  const char* at;
  const char* end;

  void skip_blanks() {
    while (at != end && is_blank(*at)) ++at;
  }
  bool at_token_end() const { return at == end || is_blank(*at) || *at == '#'; }
  bool at_line_end() const { return at == end || *at == '#'; }
  std::string_view token() const {
    return {at, std::find_if(at, end, [](char c) { return is_blank(c) || c == '#'; })};
  }
};

std::string found(const Cursor& cursor) {
  return cursor.at_token_end() ? std::string("nothing") : shown(cursor.token());
}

/// Reads a finite number that fills its token. Inlined where it is called: the call would cost a
/// fifth of the parsing.
[[gnu::always_inline]] inline bool read_whole_number(Cursor& cursor, double& value) {
  Cursor ahead = cursor;
  ahead.at = read_number(cursor.at, cursor.end, value);
  if (ahead.at == nullptr || !ahead.at_token_end() || !std::isfinite(value)) return false;
  cursor = ahead;
  return true;
}

Complaint explain_index(const Cursor& cursor) {
  const std::string_view token = cursor.token();
  if (token.starts_with("qid:"))
    return "ranking data (`qid:`) is not supported, expected index:value";
  const std::size_t colon = token.find(':');
  if (colon == std::string_view::npos) return "expected index:value, found " + shown(token);
  // Digits that no integer holds are an index that is too large; anything else is no index.
  if (colon == 0 ||
      (!parse_integer(token.substr(0, colon)) && token.find_first_not_of("0123456789") != colon))
    return "expected a whole number before the colon, found " + shown(token);
  return fmt::format("expected an index from 1 to {}, found {}", largest_index, shown(token));
}

Complaint parse_feature(Cursor& cursor, std::int32_t& previous_index, RowBlock& rows) {
  std::uint64_t number = 0;
  const char* const stop = read_digits(cursor.at, cursor.end, number);
  if (stop == cursor.at || stop - cursor.at > most_index_digits || stop == cursor.end ||
      *stop != ':' || number < 1 || number > largest_index)
    return explain_index(cursor);
  const auto index = static_cast<std::int32_t>(number);
  if (index <= previous_index)
    return fmt::format("expected indices that increase along the line, found {} after {}", index,
                       previous_index);
  cursor.at = stop + 1;
  double value = 0;
  if (!read_whole_number(cursor, value))
    return fmt::format("expected a finite number after `{}:`, found {}", index, found(cursor));
  rows.add(index - 1, value);
  previous_index = index;
  return std::nullopt;
}

Complaint parse_line(std::string_view line, Labels labels, RowBlock& rows,
                     std::int32_t& previous_index) {
  Cursor cursor{line.data(), line.data() + line.size()};
  cursor.skip_blanks();
  if (cursor.at_line_end()) return std::nullopt;
  double label = 0;
  if (!read_whole_number(cursor, label)) {
    if (labels == Labels::needed || cursor.token().find(':') == std::string_view::npos)
      return "expected a label that is a finite number, found " + found(cursor);
    label = std::numeric_limits<double>::quiet_NaN();
  }
  for (cursor.skip_blanks(); !cursor.at_line_end(); cursor.skip_blanks()) {
    Complaint complaint = parse_feature(cursor, previous_index, rows);
    if (complaint) return complaint;
  }
  rows.end_row(label);
  return std::nullopt;
}

}  // namespace

ParsedBlock parse_libsvm(std::string_view text, RowBlock memory, Labels labels) {
  ParsedBlock parsed{.rows = std::move(memory)};
  parsed.rows.clear();
  while (!text.empty() && !parsed.complaint) {
    std::int32_t largest = 0;
    parsed.complaint = parse_line(take_line(text), labels, parsed.rows, largest);
    parsed.widest.add({.index = largest, .line = ++parsed.lines});
  }
  return parsed;
}

std::string to_libsvm(const Samples& samples) {
  std::string text;
  const Index last = samples.dimension() - 1;
  for (Index row = 0; row < samples.count(); ++row) {
    Index written = -1;
    const auto write = [&](Index column, double value) {
      text += fmt::format(" {}:{}", column + 1, exact(value));
      written = column;
    };
    text += exact(samples.targets[row]);
    for_each_nonzero(samples, row, write);
    // The largest index is how a reader learns the number of features.
    if (row == 0 && written != last) write(last, 0);
    text += '\n';
  }
  return text;
}

}  // namespace grove
