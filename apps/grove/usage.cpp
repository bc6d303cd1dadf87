#include "usage.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "grove/setup/suggestion.h"

namespace grove::app {
namespace {

using Names = std::vector<std::string>;

bool contains(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

Names option_names(const Command& command) {
  Names names{"help"};
  if (command.takes_config) names.emplace_back("config");
  for (const Option& option : command.options) names.push_back(option.name);
  return names;
}

/// The first flag that the command does not have, without dashes and value; empty: there is none.
std::string unknown_flag(int argc, char** argv, const Names& names) {
  for (int k = 2; k < argc; ++k) {
    const std::string_view argument(argv[k]);
    if (argument == "--") break;
    if (!argument.starts_with("--")) continue;
    const std::string_view name = argument.substr(2, argument.find('=') - 2);
    if (!contains(names, name)) return std::string(name);
  }
  return "";
}

}  // namespace

std::vector<char*> with_help_as_flag(int argc, char** argv) {
  static char help[] = "--help";
  std::vector<char*> arguments(argv, argv + argc);
  if (argc == 1) arguments.push_back(help);
  if (argc > 1 && std::string_view(argv[1]) == "help") {
    arguments.erase(arguments.begin() + 1);
    arguments.push_back(help);
  }
  arguments.push_back(nullptr);
  return arguments;
}

std::string usage_error(int argc, char** argv, const std::vector<Command>& commands,
                        std::string_view message) {
  Names names;
  for (const Command& command : commands) names.push_back(command.name);
  const std::string_view name = argc > 1 ? argv[1] : "";
  if (!name.starts_with('-') && !contains(names, name))
    return fmt::format("'{}' is unknown; expected one of: {}{}", name, fmt::join(names, ", "),
                       suggestion(name, names));
  const auto command = std::ranges::find(commands, name, &Command::name);
  if (command != commands.end()) {
    const Names known = option_names(*command);
    if (const std::string flag = unknown_flag(argc, argv, known); !flag.empty()) {
      const std::string meant = suggestion(flag, known, "--");
      return fmt::format("--{}: unknown option{}", flag,
                         meant.empty() ? fmt::format("; see grove {} --help", name) : meant);
    }
  }
  return std::string(message.substr(0, message.find('\n')));
}

}  // namespace grove::app
