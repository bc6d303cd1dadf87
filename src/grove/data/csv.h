#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grove/base/result.h"
#include "grove/data/dataset.h"
#include "grove/data/label_texts.h"
#include "grove/data/row_block.h"

namespace grove {

/// The columns of a CSV file, numbered in file order.
struct CsvHeader {
  std::vector<std::string> names;
  std::vector<std::size_t> features;  ///< the column of each feature
  std::optional<std::size_t> label;   ///< the column of the labels
  LabelTexts* texts = nullptr;        ///< of that column; none: it has numbers
  std::size_t lines = 0;              ///< from the start of the file to the end of the header

  ColumnNames columns() const;
};

/// Parses the header and takes it off the text, which is the start of the file. See
/// ReadOptions for the label. Errors say `source:line`.
Result<CsvHeader> take_csv_header(std::string_view& text, const std::string& source,
                                  const ReadOptions& options);

/// Whether the label of the first row is a word, not a number.
bool has_label_texts(std::string_view text, const CsvHeader& header);

/// Parses whole lines of numbers separated by commas, with or without quotes (RFC 4180; a quoted
/// cell ends on its line). Blank lines are skipped. A complaint names the column.
/// `memory` is used for the rows; what is in it is dropped.
ParsedBlock parse_csv(std::string_view text, const CsvHeader& header, RowBlock memory = {});

}  // namespace grove
