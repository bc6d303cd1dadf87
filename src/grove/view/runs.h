#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "grove/base/result.h"

namespace grove {

/// What the page shows, in the format "grove-view/1": runs[{name, record}].
nlohmann::json no_runs();

/// Adds a record of train or fit as one run, or one of compare as several. Estimates are left out.
/// A record without an agent trace gets the links of its graph, where the graph is not a file.
/// Names are unique: later ones get a number. An error if the record is none.
Status add_runs(const std::string& name, nlohmann::json record, nlohmann::json& runs);

/// Reads records and adds them, each under the name of its file.
Status add_run_file(const std::string& path, nlohmann::json& runs);

}  // namespace grove
