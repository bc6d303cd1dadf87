#pragma once

#include <cstddef>

#include "grove/base/types.h"

namespace grove {

/// Rows of a view are listed in any order, so that the processor does not foresee the next one.
/// They are asked for this many rows before they are read.
inline constexpr Index rows_to_prefetch = 8;

/// Asks for a row that is read soon: for its beginning, as the processor foresees the rest.
template <class Number>
void prefetch_row(const Number* row, Index count) {
  constexpr Index line = 64 / sizeof(Number), longest = 8 * line;
  for (Index k = 0; k < count && k < longest; k += line) __builtin_prefetch(row + k);
}

}  // namespace grove
