#include "command.h"

#include <cstdio>
#include <set>

#include "grove/base/printable.h"
#include "grove/base/text.h"
#include "grove/setup/config_file.h"
#include "processes.h"

namespace grove::app {
namespace {

/// Sets the options. Returns the places at which a config file, if any, set some of them.
Result<OptionPlaces> apply(const Command& command,
                           const std::map<std::string, std::string>& given) {
  OptionPlaces places;
  if (const auto config = given.find("config"); command.takes_config && config != given.end()) {
    std::set<std::string> decided;
    for (const auto& [name, value] : given) decided.insert(name);
    auto read = read_config_file(config->second, command.options, decided);
    if (!read) return read.error();
    places = std::move(*read);
  }
  for (const auto& [name, value] : given) {
    const Option* option = find_option(command.options, name);
    if (option == nullptr) continue;  // --config itself
    if (Status status = set_option(*option, value); !status) return status.error();
  }
  return places;
}

}  // namespace

int fail(const Error& error) {
  if (!is_root()) return bad_input;
  // A formula with a caret stands below the first line.
  std::string text = "grove: ";
  const std::string whole = error.text();
  for (const std::string_view line : split(whole, '\n')) text += printable(line) + "\n";
  fmt::print(stderr, "{}", text);
  return bad_input;
}

int execute(const Command& command, const std::map<std::string, std::string>& given) {
  const auto places = apply(command, given);
  if (Status all = all_ok(places ? success() : places.error()); !all) return fail(all.error());
  const auto code = command.run();
  return code ? *code : fail(located(code.error(), *places));
}

}  // namespace grove::app
