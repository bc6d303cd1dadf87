#pragma once

#include <map>
#include <string>
#include <vector>

#include "grove/data/encoding.h"

namespace grove {

/// The columns of the formula, the weights and the offset.
std::vector<std::string> columns_read(const Formula& formula, const TableRoles& roles);

struct CompleteRows {
  std::vector<std::size_t> rows;               ///< that are used
  std::map<std::string, std::size_t> missing;  ///< cells, by column
};

/// The rows that the policy for missing cells leaves. None is an error. Without `needs_response`
/// its columns may be missing or absent.
Result<CompleteRows> complete_rows(const Table& table, const Formula& formula,
                                   const TableRoles& roles, bool needs_response = true);

}  // namespace grove
