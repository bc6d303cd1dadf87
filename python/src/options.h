#pragma once

#include <string>
#include <vector>

#include <pybind11/pybind11.h>

#include "failure.h"
#include "grove/setup/option.h"

namespace grove::python {

/// Sets options from texts by name, so that names, ranges and errors are those of the command line.
inline void set_options(const std::vector<Option>& options, const pybind11::dict& texts,
                        const std::string& command) {
  for (const auto& [key, text] : texts) {
    const auto name = key.cast<std::string>();
    const Option* option = find_option(options, name);
    if (!option) throw Failure{{"--" + name, "is unknown; see grove " + command + " --help"}};
    if (const Status status = set_option(*option, text.cast<std::string>()); !status)
      throw Failure{status.error()};
  }
}

}  // namespace grove::python
