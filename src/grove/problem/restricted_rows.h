#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "grove/base/types.h"

namespace grove {

/// A Hessian on some columns of a sparse design, R'R + diag(ridge): R has the entries of each
/// sample in these columns, times the root of the sample's second derivative.
struct RestrictedRows {
  std::vector<std::size_t> begins{0};  ///< where the entries of a row begin; one more than rows
  std::vector<std::int32_t> columns;   ///< places among the chosen columns, ascending in a row
  std::vector<double> values;
  Vector ridge;  ///< one number for each chosen column

  std::size_t rows() const { return begins.size() - 1; }
  void clear(Index chosen) {
    begins.assign(1, 0);
    columns.clear();
    values.clear();
    ridge.setZero(chosen);
  }
  void add_entry(std::int32_t column, double value) {
    columns.push_back(column);
    values.push_back(value);
  }
  void end_row() {
    if (columns.size() > begins.back()) begins.push_back(columns.size());
  }
};

/// Which columns are chosen: the place of each among them, or -1.
using ColumnPlaces = std::span<const std::int32_t>;

}  // namespace grove
