#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "grove/base/result.h"

namespace grove {

/// One column of a table: numbers, or texts where a cell is neither a number nor missing.
struct TableColumn {
  std::string name;
  bool is_text = false;
  std::vector<double> numbers = {};      ///< NaN: missing
  std::vector<std::int32_t> codes = {};  ///< of a text column, into `texts`; -1: missing
  std::vector<std::string> texts = {};   ///< distinct, in order of appearance
  std::size_t number_cells = 0;          ///< of a text column: cells that are numbers
  std::size_t first_text_row = 0;        ///< of a text column: the first cell that is none

  bool missing(std::size_t row) const;
  /// The cell as a level of a factor; a number by its shortest text.
  std::string text(std::size_t row) const;
};

/// A table as people have it: named columns of any kind, with cells missing.
struct Table {
  std::string source;  ///< file name, for messages
  std::vector<TableColumn> columns;
  std::vector<std::size_t> lines;  ///< the line on which each row begins, or the row's number
  std::vector<std::string> notes;  ///< remarks on how it was read, for a person
  bool in_memory = false;          ///< rows have numbers from 0 in place of lines

  std::size_t rows() const { return lines.size(); }
  const TableColumn* find(std::string_view name) const;
  std::vector<std::string> names() const;
  /// `source:line`, of a table in memory `source, row K`
  std::string where(std::size_t row) const;
};

struct TableOptions {
  bool has_header = true;         ///< false: columns are called V1, V2, ...
  std::optional<char> separator;  ///< unset: the most frequent of , ; and tab in the first line
};

/// Parses CSV text (RFC 4180, quoted line breaks included). Missing cells are empty, NA, NaN or a
/// lone dot. Names are trimmed; columns without a name are left out with a note. With semicolons
/// between cells a comma may be the decimal sign. A first line of numbers is no header: an error.
Result<Table> parse_table(std::string_view text, const std::string& source,
                          const TableOptions& options = {});

/// Reads a CSV file, also .bz2, .gz or .xz, `-` for standard input, or .dta and .sav (Stata, SPSS)
/// where the library was built with ReadStat.
Result<Table> read_table(const std::string& path, const TableOptions& options = {});

/// A table in memory. Columns have one length and different names; numbers are finite or, where
/// missing, NaN; codes refer to texts. Of a text column name, codes and texts are used.
Result<Table> make_table(std::string source, std::vector<TableColumn> columns);

/// Collects the cells of a table row by row, for every reader of tables.
class TableBuilder {
 public:
  TableBuilder(std::string source, std::vector<std::string> names);

  void begin_row(std::size_t line);
  /// The cell of the next column of the row begun last.
  void add_text(std::string_view cell);
  void add_number(double value);  ///< NaN: missing
  void allow_decimal_comma() { decimal_comma_ = true; }

  /// Numbers have the point or the comma, not both.
  Status check_decimal_signs() const;

  /// Columns without a name are left out.
  Table finish() &&;

 private:
  struct DecimalSign {
    std::string cell;  ///< the first that has it; empty: none
    std::size_t line = 0;
  };

  void make_text(std::size_t column);
  void note_decimal_sign(std::string_view cell);
  void add_code(std::size_t column, const std::string& cell);

  Table table_;
  std::vector<std::unordered_map<std::string, std::int32_t>> codes_;  ///< by column
  std::size_t column_ = 0;
  bool decimal_comma_ = false;
  DecimalSign comma_, point_;
};

}  // namespace grove
