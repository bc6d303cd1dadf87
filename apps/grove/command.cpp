#include "command.h"

#include <cstdio>
#include <set>

#include "grove/run/config_file.h"
#include "processes.h"

namespace grove::app {
namespace {

Status apply(const Command& command, const std::map<std::string, std::string>& given) {
  if (const auto config = given.find("config"); command.takes_config && config != given.end()) {
    std::set<std::string> decided;
    for (const auto& [name, value] : given) decided.insert(name);
    if (const Status status = read_config_file(config->second, command.options, decided); !status)
      return status;
  }
  for (const auto& [name, value] : given) {
    const Option* option = find_option(command.options, name);
    if (option == nullptr) continue;  // --config itself
    if (const Status status = set_option(*option, value); !status) return status;
  }
  return success();
}

}  // namespace

int fail(const Error& error) {
  if (speaks()) fmt::print(stderr, "grove: {}\n", error.text());
  return bad_input;
}

int execute(const Command& command, const std::map<std::string, std::string>& given) {
  if (const Status status = together(apply(command, given)); !status) return fail(status.error());
  return command.run();
}

}  // namespace grove::app
