#pragma once

#include <map>
#include <string>

#include "grove/base/result.h"
#include "grove/base/types.h"
#include "grove/data/syntax.h"
#include "grove/data/table.h"

namespace grove {

/// What stands in the place of a missing number, by column.
using FillValues = std::map<std::string, double>;

/// The value of an expression in every row; NaN where a cell it reads is missing. Comparisons give
/// 0 and 1; a text column may be compared with a text or read by date(), as days since 1970-01-01.
/// An error names file, line and expression.
Result<Vector> evaluate(const Syntax& expression, const Table& table, const FillValues& fill = {});

/// Whether a text is a date, YYYY-MM-DD or YYYY/MM/DD.
std::optional<double> days_since_1970(std::string_view text);

}  // namespace grove
