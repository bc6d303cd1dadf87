#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>

#include "grove/setup/option.h"

namespace grove {

/// Where options were set: "file:line" by name.
using OptionPlaces = std::map<std::string, std::string>;

/// Sets options from a TOML file whose keys are their names. Names in `skip` are already decided
/// (flags win) but still checked for being known. Errors name file, line and key; an unknown key
/// comes with the closest known one. Lists become `a,b,c`.
Result<OptionPlaces> read_config_file(const std::filesystem::path& path,
                                      std::span<const Option> options,
                                      const std::set<std::string>& skip = {});

/// An error about an option that a file set says where: "--work: ..." becomes
/// "run.toml:3: work: ...". Other errors stay as they are.
Error located(const Error& error, const OptionPlaces& places);

}  // namespace grove
