#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "grove/base/result.h"
#include "grove/data/samples.h"

namespace grove {

/// Parsed rows of one block of text, row after row in shared arrays.
struct RowBlock {
  std::vector<double> labels;
  std::vector<std::size_t> row_ends;  ///< where each row ends in columns and values
  std::vector<std::int32_t> columns;  ///< from 0, increasing within a row
  std::vector<double> values;         ///< finite; zeros are left out
  std::int32_t dimension = 0;         ///< one past the largest column named, zeros included

  /// Columns must come in increasing order within a row.
  void add(std::int32_t column, double value) {
    if (column >= dimension) dimension = column + 1;
    if (value == 0) return;
    columns.push_back(column);
    values.push_back(value);
  }
  void end_row(double label) {
    labels.push_back(label);
    row_ends.push_back(columns.size());
  }
};

/// Rows with more than this share of non-zeros are stored dense: a dense value takes 8 bytes
/// against 12 in compressed rows, and kernels without index look-ups run a few times faster on it,
/// which pays for multiplying zeros up to about three of four.
inline constexpr double dense_above_density = 0.25;

/// Joins the blocks in order. Each block is released as soon as it has been copied, so that the
/// peak is little more than one copy. No samples, or no features, is an error.
Result<Samples> assemble(const std::string& source, std::vector<RowBlock> blocks);

}  // namespace grove
