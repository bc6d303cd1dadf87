#pragma once

// Private to the files that read TOML.

#include <optional>
#include <string>

#include <toml++/toml.h>

namespace grove {

/// The value as its flag would be written: a list as `a,b,c`. Nothing for a table or nested lists.
std::optional<std::string> option_text(const toml::node& node);

}  // namespace grove
