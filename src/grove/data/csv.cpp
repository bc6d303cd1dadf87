#include "grove/data/csv.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "grove/base/text.h"
#include "grove/data/lines.h"
#include "grove/data/number.h"

namespace grove {
namespace {

/// Takes cells off the front of a line.
class CellReader {
 public:
  explicit CellReader(std::string_view line) : rest_(line) {}

  bool finished() const { return finished_; }

  /// The next cell as it stands in the file, outer quotes removed; nothing where quotes are wrong.
  std::optional<std::string_view> take() {
    return rest_.starts_with('"') ? take_quoted() : take_until_comma();
  }

 private:
  std::string_view take_until_comma() {
    const std::size_t comma = rest_.find(',');
    const std::string_view cell = rest_.substr(0, comma);
    finished_ = comma == std::string_view::npos;
    rest_.remove_prefix(finished_ ? rest_.size() : comma + 1);
    return cell;
  }

  std::optional<std::string_view> take_quoted() {
    const std::string_view inside = rest_.substr(1);
    std::size_t close = inside.find('"');
    while (close != std::string_view::npos && inside.substr(close).starts_with("\"\""))
      close = inside.find('"', close + 2);
    if (close == std::string_view::npos) return std::nullopt;
    rest_ = inside.substr(close + 1);
    if (!trim(take_until_comma()).empty()) return std::nullopt;
    return inside.substr(0, close);
  }

  std::string_view rest_;
  bool finished_ = false;
};

constexpr std::string_view quotes_wrong =
    "expected a quoted cell to be closed on its line and followed by a comma";

std::string without_doubled_quotes(std::string_view cell) {
  std::string text;
  for (std::size_t k = 0; k < cell.size(); ++k) {
    text += cell[k];
    if (cell.substr(k).starts_with("\"\"")) ++k;
  }
  return text;
}

Result<std::vector<std::string>> parse_names(std::string_view line, const std::string& where) {
  std::vector<std::string> names;
  CellReader cells(line);
  while (!cells.finished()) {
    const auto cell = cells.take();
    if (!cell) return Error{where, std::string(quotes_wrong)};
    names.push_back(without_doubled_quotes(trim(*cell)));
  }
  if (names.size() < 2)
    return Error{where,
                 "expected a header line with at least two column names and commas between "
                 "them, found " +
                     shown(line)};
  if (std::ranges::all_of(names,
                          [](const std::string& name) { return parse_double(name).has_value(); }))
    return Error{where, "expected a header line with column names, found only numbers"};
  return names;
}

using LabelColumn = decltype(CsvHeader::label);

Result<LabelColumn> find_label(const std::vector<std::string>& names, const std::string& where,
                               const ReadOptions& options) {
  static constexpr std::array<std::string_view, 3> usual{"label", "target", "y"};
  std::string wanted = options.label_column;
  for (const std::string_view name : usual)
    if (wanted.empty() && std::ranges::find(names, name) != names.end()) wanted = name;
  if (wanted.empty() && names.size() == options.model_features) return LabelColumn();
  if (wanted.empty()) return LabelColumn(names.size() - 1);
  const auto found = std::ranges::find(names, wanted);
  if (found == names.end()) {
    const auto near = closest(wanted, names);
    return Error{
        where, fmt::format("expected a label column {}{}", shown(wanted),
                           near ? ", the nearest name is " + shown(*near) : ", found only others")};
  }
  if (std::find(found + 1, names.end(), wanted) != names.end())
    return Error{where, fmt::format("expected one label column {}, found two", shown(wanted))};
  return LabelColumn(found - names.begin());
}

/// Reads one line into the rows; says what is wrong with it, if anything.
std::optional<std::string> parse_row(std::string_view line, const CsvHeader& header,
                                     RowBlock& rows) {
  CellReader cells(line);
  double label = std::numeric_limits<double>::quiet_NaN();
  std::size_t column = 0;
  std::int32_t feature = 0;
  for (; !cells.finished(); ++column) {
    const auto cell = cells.take();
    if (!cell) return std::string(quotes_wrong);
    if (column >= header.names.size()) continue;  // counted for the message below
    const std::string_view text = trim(*cell);
    double value = 0;
    const char* const end = text.data() + text.size();
    if (text.empty() || read_number(text.data(), end, value) != end || !std::isfinite(value))
      return fmt::format("column {}: expected a finite number, found {}",
                         shown(header.names[column]), text.empty() ? "nothing" : shown(text));
    if (column == header.label)
      label = value;
    else
      rows.add(feature++, value);
  }
  if (column != header.names.size())
    return fmt::format("expected {} cells as in the header, found {}", header.names.size(), column);
  rows.end_row(label);
  return std::nullopt;
}

}  // namespace

Result<CsvHeader> take_csv_header(std::string_view& text, const std::string& source,
                                  const ReadOptions& options) {
  CsvHeader header;
  std::string_view line;
  while (trim(line).empty() && !text.empty()) {
    line = take_line(text);
    ++header.lines;
  }
  const std::string where = fmt::format("{}:{}", source, std::max<std::size_t>(header.lines, 1));
  Result<std::vector<std::string>> names = parse_names(line, where);
  if (!names) return names.error();
  const auto label = find_label(*names, where, options);
  if (!label) return label.error();
  header.names = std::move(*names);
  header.label = *label;
  return header;
}

ParsedBlock parse_csv(std::string_view text, const CsvHeader& header, RowBlock memory) {
  ParsedBlock parsed{.rows = std::move(memory)};
  parsed.rows.clear();
  while (!text.empty() && !parsed.complaint) {
    const std::string_view line = take_line(text);
    ++parsed.lines;
    if (!trim(line).empty()) parsed.complaint = parse_row(line, header, parsed.rows);
  }
  return parsed;
}

}  // namespace grove
