#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "command.h"

namespace grove::app {

/// The arguments of main() with the words for help as the flag: `grove` and `grove help` become
/// `grove --help`, and `grove help train` becomes `grove train --help`. Ends in a null pointer.
std::vector<char*> with_help_as_flag(int argc, char** argv);

/// What is wrong with a command line that was refused with `message`, and the names that were
/// probably meant.
std::string usage_error(int argc, char** argv, const std::vector<Command>& commands,
                        std::string_view message);

}  // namespace grove::app
