#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "grove/base/result.h"
#include "grove/data/row_block.h"
#include "grove/data/text_blocks.h"

namespace grove {

/// The columns of a CSV file, in file order.
struct CsvHeader {
  std::vector<std::string> names;
  std::size_t label = 0;  ///< the column of the labels; all others are features
};

/// Parses the header and takes it off the block (`block.text` and `block.first_line` move past it).
/// `label_column` names the label; empty: `label`, `target`, `y` or the last column.
Result<CsvHeader> take_csv_header(TextBlock& block, const std::string& source,
                                  const std::string& label_column);

/// Parses whole lines of numbers separated by commas, with or without quotes (RFC 4180; a quoted
/// cell ends on its line). Blank lines are skipped. Errors say `source:line` and the column.
Result<RowBlock> parse_csv(const TextBlock& block, const std::string& source,
                           const CsvHeader& header);

}  // namespace grove
