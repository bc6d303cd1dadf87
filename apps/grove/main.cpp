#include <algorithm>
#include <csignal>
#include <exception>
#include <iterator>
#include <map>
#include <new>
#include <string>
#include <vector>

#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "command.h"
#include "grove/record/version.h"
#include "plugin.h"
#include "processes.h"
#include "usage.h"

namespace {

using grove::Option;
using grove::app::Command;

/// What CLI11 fills in for one subcommand, by option name.
struct Filled {
  std::map<std::string, std::string> values;
  std::map<std::string, std::vector<std::string>> lists;  ///< of positionals that take several
  std::map<std::string, bool> switches;
  std::map<std::string, std::vector<CLI::Option*>>
      flags;  ///< a positional and a flag may share a name
};

CLI::App* add_command(CLI::App& program, const Command& command, Filled& filled) {
  CLI::App* sub = program.add_subcommand(command.name, command.summary);
  for (const Option& option : command.options) {
    CLI::Option* flag =
        option.is_switch()
            ? sub->add_flag("--" + option.name, filled.switches[option.name], option.help)
            : sub->add_option("--" + option.name, filled.values[option.name], option.help)
                  ->type_name(option.value);
    filled.flags[option.name].push_back(flag->group(option.group));
  }
  for (const auto& positional : command.positionals) {
    const Option* option = grove::find_option(command.options, positional.option);
    CLI::Option* argument =
        positional.several
            ? sub->add_option(option->name, filled.lists[option->name], option->help)
            : sub->add_option(option->name, filled.values[option->name], option->help);
    filled.flags[option->name].push_back(argument->type_name(option->value));
  }
  if (command.takes_config)
    filled.flags["config"].push_back(
        sub->add_option("--config", filled.values["config"], "options from a TOML file; flags win")
            ->type_name("FILE.toml")
            ->group("Output"));
  return sub;
}

/// Switches take values too: --intercept=false.
std::string value_of(const std::string& name, const Filled& filled) {
  if (const auto list = filled.lists.find(name);
      list != filled.lists.end() && !list->second.empty())
    return fmt::format("{}",
                       fmt::join(list->second, std::string_view(&grove::app::argument_end, 1)));
  const auto found = filled.switches.find(name);
  if (found == filled.switches.end()) return filled.values.at(name);
  return found->second ? "true" : "false";
}

std::map<std::string, std::string> given_options(const Filled& filled) {
  std::map<std::string, std::string> given;
  for (const auto& [name, flags] : filled.flags)
    for (const CLI::Option* flag : flags)
      if (flag->count() > 0) given[name] = value_of(name, filled);
  return given;
}

/// Those that need no plug-in.
std::vector<Command> own_commands() {
  return {grove::app::train_command(),   grove::app::fit_command(),
          grove::app::summary_command(), grove::app::predict_command(),
          grove::app::compare_command(), grove::app::plot_command(),
          grove::app::export_command()};
}

std::vector<Command> every_command() {
  std::vector<Command> commands = own_commands();
  if (auto others = grove::app::plugin_commands(grove::app::every_plugin))
    std::ranges::move(*others, std::back_inserter(commands));
  return commands;
}

int run_program(int argc, char** argv) {
  CLI::App program{
      "Grove trains one model over machines that keep their rows. There is no server."};
  program.set_version_flag("--version", std::string("grove ") + grove::version);
  program.require_subcommand(1);
  std::vector<Command> commands = own_commands();
  auto others = grove::app::plugin_commands(argc > 1 ? argv[1] : "");
  if (!others) return grove::app::fail(others.error());
  std::ranges::move(*others, std::back_inserter(commands));
  commands.push_back(grove::app::completion_command(every_command));
  std::vector<Filled> filled(commands.size());
  std::vector<CLI::App*> subs;
  for (std::size_t k = 0; k < commands.size(); ++k)
    subs.push_back(add_command(program, commands[k], filled[k]));
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    return program.exit(help_or_version);
  } catch (const CLI::Error& error) {
    return grove::app::fail({"", grove::app::usage_error(argc, argv, commands, error.what())});
  }
  for (std::size_t k = 0; k < commands.size(); ++k) {
    if (!subs[k]->parsed()) continue;
    for (const auto& [name, flags] : filled[k].flags)
      if (std::ranges::count_if(flags, [](const auto* flag) { return flag->count() > 0; }) > 1)
        return grove::app::fail({"--" + name, "is given twice, by its name and by its place"});
    const auto given = given_options(filled[k]);
    for (const auto& positional : commands[k].positionals)
      if (positional.required && !given.contains(positional.option))
        return grove::app::fail(
            {commands[k].name,
             fmt::format("expected {}; see grove {} --help", positional.option, commands[k].name)});
    return grove::app::execute(commands[k], given);
  }
  return grove::app::bad_input;
}

}  // namespace

int main(int given_argc, char** given_argv) {
  std::vector<char*> arguments = grove::app::with_help_as_flag(given_argc, given_argv);
  const int argc = static_cast<int>(arguments.size()) - 1;  // the last is null, as main() has it
  char** argv = arguments.data();
  std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away must not cost the files still to write
  const grove::app::Processes processes;
  try {
    return run_program(argc, argv);
  } catch (const std::bad_alloc&) {
    fmt::print(stderr,
               "grove: out of memory; expected fewer features or agents, or a method without "
               "Hessians (pg-extra, p2d2, nids)\n");
    return grove::app::abort_job(grove::app::bad_input);
  } catch (const std::exception& error) {  // no stack traces
    fmt::print(stderr, "grove: {}\n", error.what());
    return grove::app::abort_job(grove::app::bad_input);
  }
}
