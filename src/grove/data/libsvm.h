#pragma once

#include <string>
#include <string_view>

#include "grove/data/row_block.h"

namespace grove {

/// Parses whole lines `label index:value index:value ... # comment`. Indices count from 1 and
/// increase along a line; blank lines and comment lines are skipped. Pure: blocks of one file may
/// be parsed in any order or at once. `memory` is used for the rows; what is in it is dropped.
/// Lines without a label (`index:value ...`) are an error, or have the target NaN.
enum class Labels { needed, optional };
ParsedBlock parse_libsvm(std::string_view text, RowBlock memory = {},
                         Labels labels = Labels::needed);

/// The samples as LIBSVM text that reads back exactly.
std::string to_libsvm(const Samples& samples);

}  // namespace grove
