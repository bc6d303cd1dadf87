#pragma once

#include <string>

#include "grove/base/result.h"
#include "grove/data/table.h"

namespace grove {

/// Reads a Stata .dta or SPSS .sav file. Values with labels become texts, as R's `as_factor` makes
/// them. Without ReadStat at build time every file is an error that says so.
Result<Table> read_statistics_package(const std::string& path);

}  // namespace grove
