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
  for (auto name = names.begin(); name != names.end(); ++name)
    if (!name->empty() && std::find(names.begin(), name, *name) != name)
      return Error{where,
                   fmt::format("expected column names once each, found {} twice", shown(*name))};
  return names;
}

using Names = std::vector<std::string>;

/// The one column of that name.
Result<std::size_t> find_column(const Names& names, std::string_view wanted, std::string_view what,
                                const std::string& where) {
  const auto found = std::ranges::find(names, wanted);
  if (found == names.end()) {
    const auto near = closest(wanted, names);
    return Error{
        where, fmt::format("expected {} {}{}", what, shown(wanted),
                           near ? ", the nearest name is " + shown(*near) : ", found only others")};
  }
  return static_cast<std::size_t>(found - names.begin());
}

/// What a column is called that is called as labels usually are. Empty: none is.
std::string usual_label(const Names& names) {
  static constexpr std::array<std::string_view, 3> usual{"label", "target", "y"};
  for (const std::string_view wanted : usual)
    for (const std::string& name : names)
      if (lowercase(name) == wanted) return name;
  return {};
}

Status find_label(const ReadOptions& options, const std::string& where, CsvHeader& header) {
  const std::string wanted =
      options.label_column.empty() ? usual_label(header.names) : options.label_column;
  if (wanted.empty()) {
    if (header.names.size() != options.model_features) header.label = header.names.size() - 1;
    return success();
  }
  const auto found = find_column(header.names, wanted, "a label column", where);
  if (!found) return found.error();
  header.label = *found;
  return success();
}

/// All columns but the label are features.
Status take_all(const ReadOptions& options, const std::string& where, CsvHeader& header) {
  if (Status status = find_label(options, where, header); !status) return status;
  for (std::size_t column = 0; column < header.names.size(); ++column)
    if (column != header.label) header.features.push_back(column);
  const std::size_t known = options.model_features;
  if (known > 0 && header.features.size() != known)
    return Error{where, fmt::format("expected the {} columns of the model's features, found {}",
                                    known, header.features.size())};
  return success();
}

/// The columns that a model asks for.
Status take_named(const ColumnNames& wanted, const ReadOptions& options, const std::string& where,
                  CsvHeader& header) {
  for (const std::string& name : wanted.features) {
    const auto found = find_column(header.names, name, "the model's column", where);
    if (!found) return found.error();
    header.features.push_back(*found);
  }
  if (!options.label_column.empty()) return find_label(options, where, header);
  const auto found = std::ranges::find(header.names, wanted.label);
  if (!wanted.label.empty() && found != header.names.end())
    header.label = static_cast<std::size_t>(found - header.names.begin());
  return success();
}

/// Takes a line apart; false: its quotes are wrong.
bool split(std::string_view line, std::vector<std::string_view>& cells) {
  cells.clear();
  for (CellReader reader(line); !reader.finished();) {
    const auto cell = reader.take();
    if (!cell) return false;
    cells.push_back(trim(*cell));
  }
  return true;
}

/// Reads one line into the rows; says what is wrong with it, if anything. `cells` is room for it.
std::optional<std::string> parse_row(std::string_view line, const CsvHeader& header,
                                     std::vector<std::string_view>& cells, RowBlock& rows) {
  if (!split(line, cells)) return std::string(quotes_wrong);
  std::optional<std::string> complaint;
  const auto number_in = [&](std::size_t column) {
    double value = 0;
    const std::string_view text = cells[column];
    const char* const end = text.data() + text.size();
    if (text.empty() || read_number(text.data(), end, value) != end || !std::isfinite(value))
      complaint = fmt::format("column {}: expected a finite number, found {}",
                              shown(header.names[column]), text.empty() ? "nothing" : shown(text));
    return value;
  };
  if (cells.size() != header.names.size())
    return fmt::format("expected {} cells as in the header, found {}", header.names.size(),
                       cells.size());
  std::int32_t feature = 0;
  for (const std::size_t column : header.features) {
    rows.add(feature++, number_in(column));
    if (complaint) return complaint;
  }
  if (!header.label)
    rows.end_row(std::numeric_limits<double>::quiet_NaN());
  else if (header.texts && !cells[*header.label].empty())
    rows.end_row(header.texts->number_of(without_doubled_quotes(cells[*header.label])));
  else
    rows.end_row(number_in(*header.label));
  return complaint;
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
  header.names = std::move(*names);
  const Status taken = options.model_columns
                           ? take_named(*options.model_columns, options, where, header)
                           : take_all(options, where, header);
  if (!taken) return taken.error();
  return header;
}

ColumnNames CsvHeader::columns() const {
  ColumnNames columns;
  for (const std::size_t column : features) columns.features.push_back(names[column]);
  if (label) columns.label = names[*label];
  return columns;
}

bool has_label_texts(std::string_view text, const CsvHeader& header) {
  std::string_view line;
  while (trim(line).empty() && !text.empty()) line = take_line(text);
  std::vector<std::string_view> cells;
  if (!header.label || !split(line, cells) || *header.label >= cells.size()) return false;
  const std::string_view label = cells[*header.label];
  return !label.empty() && !parse_double(label);
}

ParsedBlock parse_csv(std::string_view text, const CsvHeader& header, RowBlock memory) {
  ParsedBlock parsed{.rows = std::move(memory)};
  parsed.rows.clear();
  std::vector<std::string_view> cells;
  while (!text.empty() && !parsed.complaint) {
    const std::string_view line = take_line(text);
    ++parsed.lines;
    if (!trim(line).empty()) parsed.complaint = parse_row(line, header, cells, parsed.rows);
  }
  return parsed;
}

}  // namespace grove
