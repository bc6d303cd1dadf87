#pragma once

#include "grove/base/types.h"

namespace grove {

/// Links keep one column per slot; these add and remove one.
inline void append_column(Matrix& columns, const Vector& column) {
  columns.conservativeResize(column.size(), columns.cols() + 1);
  columns.rightCols(1) = column;
}

inline void remove_column(Matrix& columns, Index at) {
  for (Index next = at + 1; next < columns.cols(); ++next)
    columns.col(next - 1) = columns.col(next);
  columns.conservativeResize(Eigen::NoChange, columns.cols() - 1);
}

}  // namespace grove
