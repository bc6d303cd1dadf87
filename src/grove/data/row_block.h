#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
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
  /// Room for about what so much text says, ready to be filled.
  void make_room(std::size_t text_bytes);
  /// Empty, but with the memory it has.
  void clear() {
    labels.clear();
    row_ends.clear();
    columns.clear();
    values.clear();
    dimension = 0;
  }
};

/// The largest index of any line, and of all other lines.
struct WidestLine {
  std::int32_t index = 0, others = 0;
  std::size_t line = 0;  ///< from 1

  void add(const WidestLine& next) {
    if (next.index > index) {
      others = std::max(index, next.others);
      index = next.index;
      line = next.line;
    } else {
      others = std::max(others, next.index);
    }
  }
};

/// What a parser made of whole lines of text.
struct ParsedBlock {
  RowBlock rows;
  WidestLine widest;                     ///< of LIBSVM text; lines count from the block's first
  std::size_t lines = 0;                 ///< read so far, blank ones and comments included
  std::optional<std::string> complaint;  ///< what is wrong with the last of them; it ends the block
};

/// Rows with more than this share of non-zeros are stored dense: a dense value takes 8 bytes
/// against 12 in compressed rows, and kernels without index look-ups run a few times faster on it,
/// which pays for multiplying zeros up to about three of four.
inline constexpr double dense_above_density = 0.25;

/// The arrays of a sparse matrix, moved without copying them as Eigen 3.4 would.
class SparseEntries final : public SparseRows::Storage {
 public:
  SparseEntries() = default;
  SparseEntries(const SparseEntries&) = delete;
  SparseEntries& operator=(const SparseEntries&) = delete;
  SparseEntries(SparseEntries&& other) noexcept { swap(other); }
  SparseEntries& operator=(SparseEntries&& other) noexcept {
    swap(other);
    return *this;
  }
  ~SparseEntries() = default;
};

/// The rows of many blocks.
struct GatheredRows {
  std::vector<double> labels;
  std::vector<std::size_t> row_ends;
  SparseEntries entries;
  std::int32_t dimension = 0;
};

/// Copies the rows of a small block to the end of the last large one, or of a new one where that is
/// full (about 50 MB): a few large arrays are filled in a fraction of the time of many small ones.
void append(const RowBlock& from, std::vector<GatheredRows>& gathered);

/// Joins the rows in order. Each part is released as soon as it has been copied, so that the peak
/// is little more than one copy; sparse rows in one part are not copied at all. No samples, or no
/// features, is an error.
Result<Samples> assemble(const std::string& source, std::vector<GatheredRows> parts);

}  // namespace grove
