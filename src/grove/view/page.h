#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace grove {

/// The page of the view, made from the folder `web`. With runs (runs.h) in it, it is complete in
/// one file; without, it fetches `runs.json` from where it came from. Its policy allows its own
/// script only, and no connection elsewhere.
std::string view_page(const nlohmann::json* runs);

/// The Content-Security-Policy of the page.
std::string view_policy();

}  // namespace grove
