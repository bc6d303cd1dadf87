#include "grove/data/table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "grove/base/printable.h"
#include "grove/base/text.h"
#include "grove/data/lines.h"
#include "grove/data/number.h"

namespace grove {
namespace {

constexpr double missing_number = std::numeric_limits<double>::quiet_NaN();

bool is_missing(std::string_view cell) {
  return cell.empty() || cell == "NA" || cell == "NaN" || cell == "nan" || cell == ".";
}

std::optional<double> finite_number(std::string_view cell) {
  double value = 0;
  const char* const end = cell.data() + cell.size();
  if (cell.empty() || read_number(cell.data(), end, value) != end || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::optional<double> number_in(std::string_view cell, bool decimal_comma) {
  if (const auto number = finite_number(cell); number || !decimal_comma) return number;
  const std::size_t comma = cell.find(',');
  if (comma == std::string_view::npos || cell.find('.') != std::string_view::npos)
    return std::nullopt;
  std::string with_point(cell);
  with_point[comma] = '.';
  return finite_number(with_point);
}

/// Takes records apart: cells between separators, quotes around separators and line breaks.
class RecordReader {
 public:
  RecordReader(std::string_view text, char separator) : rest_(text), separator_(separator) {}

  bool finished() const { return rest_.empty(); }
  std::size_t line() const { return line_; }  ///< on which the last record began

  /// The cells of the next record; false: a quote is not closed or is followed by text.
  bool take(std::vector<std::string>& cells) {
    cells.clear();
    line_ = next_line_;
    for (;;) {
      std::string& cell = cells.emplace_back();
      if (!take_cell(cell)) return false;
      if (rest_.empty() || !rest_.starts_with(separator_)) break;
      rest_.remove_prefix(1);
    }
    end_line();
    return true;
  }

 private:
  bool take_cell(std::string& cell) {
    std::string_view start = rest_;
    while (!start.empty() && start.front() == ' ') start.remove_prefix(1);
    if (start.starts_with('"')) {
      rest_ = start.substr(1);
      return take_quoted(cell);
    }
    const std::size_t end = std::min(rest_.find_first_of(stops()), rest_.size());
    cell = trim(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return true;
  }

  bool take_quoted(std::string& cell) {
    for (;;) {
      const std::size_t quote = rest_.find('"');
      if (quote == std::string_view::npos) return false;
      const std::string_view inside = rest_.substr(0, quote);
      cell += inside;
      next_line_ += static_cast<std::size_t>(std::ranges::count(inside, '\n'));
      rest_.remove_prefix(quote + 1);
      if (!rest_.starts_with('"')) break;
      cell += '"';
      rest_.remove_prefix(1);
    }
    cell = trim(cell);
    const std::size_t end = std::min(rest_.find_first_of(stops()), rest_.size());
    const bool clean = trim(rest_.substr(0, end)).empty();
    rest_.remove_prefix(end);
    return clean;
  }

  void end_line() {
    if (rest_.starts_with("\r\n"))
      rest_.remove_prefix(2);
    else if (!rest_.empty())
      rest_.remove_prefix(1);
    ++next_line_;
  }

  std::string stops() const { return std::string("\r\n") + separator_; }

  std::string_view rest_;
  char separator_;
  std::size_t line_ = 0, next_line_ = 1;
};

/// The most frequent of the usual separators in the first line, outside quotes.
char find_separator(std::string_view text) {
  std::size_t commas = 0, semicolons = 0, tabs = 0;
  bool quoted = false;
  for (const char character : text) {
    if (character == '"') quoted = !quoted;
    if (quoted) continue;
    if (character == '\n' && commas + semicolons + tabs > 0) break;
    commas += character == ',';
    semicolons += character == ';';
    tabs += character == '\t';
  }
  if (tabs > commas && tabs > semicolons) return '\t';
  return semicolons > commas ? ';' : ',';
}

bool blank(const std::vector<std::string>& cells) { return cells.size() == 1 && cells[0].empty(); }

Status check_header(const std::vector<std::string>& cells, std::string_view first_line,
                    const std::string& where) {
  const auto numbers = static_cast<std::size_t>(std::ranges::count_if(
      cells, [](const std::string& cell) { return finite_number(cell).has_value(); }));
  if (2 * numbers >= cells.size())
    return Error{where, fmt::format("expected a header line with column names, found {}; "
                                    "--no-header says that there is none",
                                    shown(first_line))};
  for (std::size_t k = 0; k < cells.size(); ++k)
    if (!cells[k].empty() && std::find(cells.begin(), cells.begin() + k, cells[k]) !=
                                 cells.begin() + static_cast<std::ptrdiff_t>(k))
      return Error{where,
                   fmt::format("expected column names once each, found {} twice", shown(cells[k]))};
  return success();
}

/// Texts in another encoding would be other levels than the same texts at another site.
Status check_encoding(std::string_view text, const std::string& source) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    return Error{source, "is UTF-16; expected UTF-8"};
  const std::size_t place = first_not_utf8(text);
  if (place == std::string_view::npos) return success();
  const auto line = static_cast<std::size_t>(std::ranges::count(text.substr(0, place), '\n')) + 1;
  return line_error(source, line,
                    fmt::format("expected UTF-8, found the byte {:#x}; the table may be Latin-1",
                                static_cast<unsigned char>(text[place])));
}

std::vector<std::string> numbered_names(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t k = 1; k <= count; ++k) names.push_back(fmt::format("V{}", k));
  return names;
}

}  // namespace

namespace {

Status check_column(const Table& table, const TableColumn& column) {
  const std::size_t rows = column.is_text ? column.codes.size() : column.numbers.size();
  if (rows != table.rows())
    return Error{table.source, fmt::format("column {} has {} rows; expected {}, as the first has",
                                           shown(column.name), rows, table.rows())};
  for (std::size_t row = 0; row < rows; ++row) {
    if (column.is_text && column.codes[row] >= static_cast<std::int32_t>(column.texts.size()))
      return Error{table.where(row), fmt::format("column {}: code {} has no text",
                                                 shown(column.name), column.codes[row])};
    if (!column.is_text && std::isinf(column.numbers[row]))
      return Error{table.where(row), fmt::format("column {}: expected a finite number, found {}",
                                                 shown(column.name), column.numbers[row])};
  }
  return success();
}

}  // namespace

Result<Table> make_table(std::string source, std::vector<TableColumn> columns) {
  Table table{.source = std::move(source), .in_memory = true};
  const std::size_t rows = columns.empty()      ? 0
                           : columns[0].is_text ? columns[0].codes.size()
                                                : columns[0].numbers.size();
  if (rows == 0) return Error{table.source, "has no rows; expected a table with columns and rows"};
  for (std::size_t row = 0; row < rows; ++row) table.lines.push_back(row);
  for (TableColumn& column : columns) {
    if (Status status = check_column(table, column); !status) return status.error();
    if (table.find(column.name) != nullptr)
      return Error{table.source, fmt::format("expected column names once each, found {} twice",
                                             shown(column.name))};
    const auto first = std::ranges::find_if(column.codes, [](auto code) { return code >= 0; });
    column.first_text_row = static_cast<std::size_t>(first - column.codes.begin());
    column.number_cells = 0;
    if (column.is_text && first == column.codes.end())  // a column without a cell has no kind
      column = {.name = column.name, .numbers = std::vector<double>(rows, missing_number)};
    table.columns.push_back(std::move(column));
  }
  return table;
}

bool TableColumn::missing(std::size_t row) const {
  return is_text ? codes[row] < 0 : std::isnan(numbers[row]);
}

std::string TableColumn::text(std::size_t row) const {
  return is_text ? texts[static_cast<std::size_t>(codes[row])] : exact(numbers[row]);
}

const TableColumn* Table::find(std::string_view name) const {
  const auto found = std::ranges::find(columns, name, &TableColumn::name);
  return found == columns.end() ? nullptr : &*found;
}

std::vector<std::string> Table::names() const {
  std::vector<std::string> names;
  for (const TableColumn& column : columns) names.push_back(column.name);
  return names;
}

std::string Table::where(std::size_t row) const {
  return fmt::format("{}{}{}", source, in_memory ? ", row " : ":", lines[row]);
}

TableBuilder::TableBuilder(std::string source, std::vector<std::string> names)
    : codes_(names.size()) {
  table_.source = std::move(source);
  for (std::string& name : names) table_.columns.push_back({.name = std::move(name)});
}

void TableBuilder::begin_row(std::size_t line) {
  table_.lines.push_back(line);
  column_ = 0;
}

void TableBuilder::add_number(double value) {
  TableColumn& column = table_.columns[column_];
  if (!column.is_text)
    column.numbers.push_back(value);
  else if (std::isnan(value))
    column.codes.push_back(-1);
  else
    add_code(column_, exact(value));
  ++column_;
}

void TableBuilder::add_text(std::string_view cell) {
  const bool missing = is_missing(cell);
  const std::optional<double> number =
      missing ? std::optional(missing_number) : number_in(cell, decimal_comma_);
  if (decimal_comma_ && number && !missing) note_decimal_sign(cell);
  TableColumn& column = table_.columns[column_];
  if (number && !column.is_text) return add_number(*number);
  if (!column.is_text) make_text(column_);
  if (missing) {
    column.codes.push_back(-1);
  } else {
    column.number_cells += number.has_value();
    add_code(column_, std::string(cell));
  }
  ++column_;
}

void TableBuilder::note_decimal_sign(std::string_view cell) {
  DecimalSign* sign = cell.find(',') != std::string_view::npos   ? &comma_
                      : cell.find('.') != std::string_view::npos ? &point_
                                                                 : nullptr;
  if (sign != nullptr && sign->cell.empty())
    *sign = {.cell = std::string(cell), .line = table_.lines.back()};
}

/// Where a comma is the decimal sign, the point of 1.380 may stand between thousands.
Status TableBuilder::check_decimal_signs() const {
  if (comma_.cell.empty() || point_.cell.empty()) return success();
  return line_error(table_.source, point_.line,
                    fmt::format("expected one decimal sign, found {} here and {} in line {}",
                                shown(point_.cell), shown(comma_.cell), comma_.line));
}

/// The first text of a column makes texts of the numbers above it.
void TableBuilder::make_text(std::size_t position) {
  TableColumn& column = table_.columns[position];
  column.is_text = true;
  column.first_text_row = column.numbers.size();
  for (const double number : std::exchange(column.numbers, {})) {
    if (std::isnan(number)) {
      column.codes.push_back(-1);
      continue;
    }
    ++column.number_cells;
    add_code(position, exact(number));
  }
}

void TableBuilder::add_code(std::size_t position, const std::string& cell) {
  TableColumn& column = table_.columns[position];
  const auto [found, added] =
      codes_[position].emplace(cell, static_cast<std::int32_t>(column.texts.size()));
  if (added) column.texts.push_back(cell);
  column.codes.push_back(found->second);
}

Table TableBuilder::finish() && {
  for (std::size_t k = 0; k < table_.columns.size(); ++k)
    if (table_.columns[k].name.empty())
      table_.notes.push_back(
          fmt::format("{}: column {} has no name and is ignored", table_.source, k + 1));
  std::erase_if(table_.columns, [](const TableColumn& column) { return column.name.empty(); });
  return std::move(table_);
}

Result<Table> parse_table(std::string_view text, const std::string& source,
                          const TableOptions& options) {
  if (Status status = check_encoding(text, source); !status) return status.error();
  const char separator = options.separator.value_or(find_separator(text));
  RecordReader reader(text, separator);
  std::vector<std::string> cells{""};
  constexpr std::string_view unclosed_quotes =
      "expected a quoted cell to be closed and followed by a separator";
  while (blank(cells) && !reader.finished())
    if (!reader.take(cells)) return line_error(source, reader.line(), std::string(unclosed_quotes));
  if (blank(cells)) return Error{source, "is empty; expected a table with a header line"};
  std::vector<std::string> names = cells;
  if (options.has_header) {
    std::string_view first = text;
    for (std::size_t line = 1; line < reader.line(); ++line) take_line(first);
    if (Status status =
            check_header(cells, take_line(first), fmt::format("{}:{}", source, reader.line()));
        !status)
      return status.error();
  } else {
    names = numbered_names(cells.size());
  }
  const std::size_t width = names.size();
  TableBuilder builder(source, std::move(names));
  if (separator == ';') builder.allow_decimal_comma();
  const auto add_row = [&] {
    builder.begin_row(reader.line());
    for (const std::string& cell : cells) builder.add_text(cell);
  };
  if (!options.has_header) add_row();
  while (!reader.finished()) {
    if (!reader.take(cells)) return line_error(source, reader.line(), std::string(unclosed_quotes));
    if (blank(cells) && (width > 1 || reader.finished())) continue;
    if (cells.size() != width)
      return line_error(
          source, reader.line(),
          fmt::format("expected {} cells as in the header, found {}", width, cells.size()));
    add_row();
  }
  if (Status status = builder.check_decimal_signs(); !status) return status.error();
  Table table = std::move(builder).finish();
  if (table.rows() == 0) return Error{source, "has no rows below its header"};
  return table;
}

}  // namespace grove
