#pragma once

#include <filesystem>
#include <set>
#include <span>
#include <string>

#include "grove/run/option.h"

namespace grove {

/// Sets options from a TOML file whose keys are their names. Names in `skip` are already decided
/// (flags win) but still checked for being known. Errors name file, line and key; an unknown key
/// comes with the closest known one. Lists become `a,b,c`.
Status read_config_file(const std::filesystem::path& path, std::span<const Option> options,
                        const std::set<std::string>& skip = {});

}  // namespace grove
