#pragma once

#include <cstdint>
#include <variant>

#include "grove/base/types.h"

namespace grove {

/// A dense matrix in the caller's memory, row after row, one sample a row. It is not copied: the
/// memory has to outlive every problem and run that uses it.
struct DenseView {
  const double* values = nullptr;
  Index rows = 0;
  Index columns = 0;
  Index stride = 0;  ///< numbers from one row to the next; 0: as many as columns

  const double* row(Index k) const { return values + k * (stride == 0 ? columns : stride); }
};

/// A sparse matrix in the caller's memory, in compressed rows as scipy.sparse.csr_matrix has them,
/// columns of a row ascending. It is not copied.
struct CsrView {
  const std::int32_t* offsets = nullptr;  ///< rows + 1: where the entries of a row begin
  const std::int32_t* indices = nullptr;  ///< the column of every entry
  const double* values = nullptr;
  Index rows = 0;
  Index columns = 0;
};

using FeatureView = std::variant<DenseView, CsrView>;

}  // namespace grove
