#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "grove/base/result.h"
#include "grove/data/encoding.h"

namespace grove {

/// What a site says of its table to the other sites, and nothing else: rows used and left out,
/// missing cells by column, kinds of columns, levels of factors and classes of the response with
/// their rows. Sums for means are left out: they travel as sums over sites.
nlohmann::json to_json(const TableSummary& summary);

/// Read again. `site` is its name; the text may be anybody's.
Result<TableSummary> table_summary_from_json(const nlohmann::json& json, const std::string& site);

}  // namespace grove
