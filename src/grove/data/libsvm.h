#pragma once

#include <string>

#include "grove/base/result.h"
#include "grove/data/row_block.h"
#include "grove/data/text_blocks.h"

namespace grove {

/// Parses whole lines `label index:value index:value ... # comment`. Indices count from 1 and
/// increase along a line; blank lines and comment lines are skipped. Pure: blocks of one file may
/// be parsed in any order or at once. Errors say `source:line`.
Result<RowBlock> parse_libsvm(const TextBlock& block, const std::string& source);

/// The samples as LIBSVM text that reads back exactly.
std::string to_libsvm(const Samples& samples);

}  // namespace grove
