// Man page and shell completions, made of the same options as --help.
#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command.h"
#include "grove/base/text.h"
#include "grove/record/version.h"
#include "plugin.h"

namespace grove::app {
namespace {

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

/// The values of an option that are words to choose from: "open | masked".
std::vector<std::string> choices_of(const Option& option) {
  std::vector<std::string> words;
  for (std::string_view part : split(option.value, '|')) {
    part = trim(part);
    const bool word =
        !part.empty() &&
        part.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
    if (word) words.emplace_back(part);
  }
  return words.size() > 1 ? words : std::vector<std::string>();
}

/// The words that the first argument is one of, such as init, up, status and down.
std::vector<std::string> actions_of(const Command& command) {
  if (command.positionals.empty()) return {};
  const Option* first = find_option(command.options, command.positionals.front().option);
  return first != nullptr ? choices_of(*first) : std::vector<std::string>();
}

std::string roff(std::string text) {
  text = replaced(std::move(text), "\\", "\\e");
  text = replaced(std::move(text), "-", "\\-");
  text = replaced(std::move(text), "'", "\\(aq");
  return text.starts_with('.') ? "\\&" + text : text;
}

std::string man_page(const std::vector<Command>& commands) {
  std::string text = fmt::format(
      ".TH GROVE 1 \"\" \"grove {}\" \"User commands\"\n.SH NAME\ngrove \\- train one model over "
      "machines that keep their rows\n.SH SYNOPSIS\n.B grove\n.I "
      "COMMAND\n[options]\n",
      version);
  for (const Command& command : commands) {
    text += fmt::format(".SH \"GROVE {}\"\n{}.\n", roff(command.name), roff(command.summary));
    for (const Option& option : command.options)
      text += fmt::format(".TP\n.B \\-\\-{}{}\n{}\n", roff(option.name),
                          option.is_switch() ? "" : " \\fI" + roff(option.value) + "\\fR",
                          roff(option.help));
  }
  return text +
         ".SH \"EXIT STATUS\"\n.TP\n0\nas asked\n.TP\n2\na mistake in the input\n.TP\n3\nthe run "
         "diverged\n.TP\n4\ntransport or files failed\n.TP\n5\na disclosure rule forbids "
         "it\n.TP\n6\n"
         "ended without some members\n";
}

std::vector<std::string> flags_of(const Command& command) {
  std::vector<std::string> flags{"--help"};
  for (const Option& option : command.options) flags.push_back("--" + option.name);
  return flags;
}

std::vector<std::string> names_of(const std::vector<Command>& commands) {
  std::vector<std::string> names{"help"};
  for (const Command& command : commands) names.push_back(command.name);
  return names;
}

std::string bash(const std::vector<Command>& commands) {
  std::string text =
      "# Completion of grove for bash.\n_grove() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=\n"
      "  COMPREPLY=()\n";
  text += fmt::format(
      "  if ((COMP_CWORD == 1)); then\n    mapfile -t COMPREPLY < <(compgen -W '{}' -- "
      "\"$current\")\n    return\n  fi\n  case ${{COMP_WORDS[1]}}:$before in\n",
      fmt::join(names_of(commands), " "));
  for (const Command& command : commands)
    for (const Option& option : command.options)
      if (const auto words = choices_of(option); !words.empty())
        text += fmt::format("    {}:--{}) words='{}' ;;\n", command.name, option.name,
                            fmt::join(words, " "));
  text += "  esac\n  if [[ -z $words && $current == -* ]]; then\n    case ${COMP_WORDS[1]} in\n";
  for (const Command& command : commands)
    text +=
        fmt::format("      {}) words='{}' ;;\n", command.name, fmt::join(flags_of(command), " "));
  text +=
      "    esac\n  elif [[ -z $words ]] && ((COMP_CWORD == 2)); then\n    case ${COMP_WORDS[1]} "
      "in\n";
  for (const Command& command : commands)
    if (const auto words = actions_of(command); !words.empty())
      text += fmt::format("      {}) words='{}' ;;\n", command.name, fmt::join(words, " "));
  return text +
         "      *) ;;\n    esac\n  fi\n  if [[ -n $words ]]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n  else\n"
         "    mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n  fi\n}\n"
         "complete -o filenames -F _grove grove\n";
}

/// Inside a pair of single quotes of zsh and fish.
std::string quoted(std::string text) { return "'" + replaced(std::move(text), "'", "'\\''") + "'"; }

std::string zsh(const std::vector<Command>& commands) {
  std::string text =
      "#compdef grove\n# Completion of grove for zsh.\n_grove() {\n  local -a commands=(\n";
  for (const Command& command : commands)
    text += fmt::format("    {}\n", quoted(command.name + ":" + command.summary));
  text +=
      "  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n    return\n  fi\n"
      "  case $words[2] in\n";
  const auto plain = [](std::string part) {
    for (const char* special : {"[", "]", ":"})
      part = replaced(std::move(part), special, std::string("\\") + special);
    return part;
  };
  for (const Command& command : commands) {
    text += fmt::format("    {}) _arguments", command.name);
    for (const Option& option : command.options) {
      const auto words = choices_of(option);
      const std::string action =
          words.empty() ? "_files" : fmt::format("({})", fmt::join(words, " "));
      text += " " + quoted(fmt::format(
                        "--{}[{}]{}", option.name, plain(option.help),
                        option.is_switch() ? "" : ":" + plain(option.name) + ":" + action));
    }
    if (const auto words = actions_of(command); !words.empty())
      text += " " + quoted(fmt::format("2:action:({})", fmt::join(words, " ")));
    text += " '*:file:_files' ;;\n";
  }
  return text + "  esac\n}\n_grove \"$@\"\n";
}

std::string fish(const std::vector<Command>& commands) {
  std::string text = "# Completion of grove for fish.\n";
  for (const Command& command : commands)
    text += fmt::format("complete -c grove -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                        quoted(command.summary));
  for (const Command& command : commands) {
    const std::string here = fmt::format("-n '__fish_seen_subcommand_from {}'", command.name);
    for (const Option& option : command.options) {
      const auto words = choices_of(option);
      const std::string values =
          option.is_switch() ? ""
          : words.empty()
              ? " -r"
              : fmt::format(" -x -a {}", quoted(fmt::format("{}", fmt::join(words, " "))));
      text += fmt::format("complete -c grove {} -l {}{} -d {}\n", here, option.name, values,
                          quoted(option.help));
    }
    if (const auto words = actions_of(command); !words.empty())
      text += fmt::format("complete -c grove {} -a {}\n", here,
                          quoted(fmt::format("{}", fmt::join(words, " "))));
  }
  return text;
}

/// With --config among the options, and the help of each on one line.
std::vector<Command> described(std::vector<Command> commands) {
  for (Command& command : commands) {
    if (command.takes_config)
      command.options.push_back({.name = "config",
                                 .value = "FILE.toml",
                                 .help = "options from a TOML file; flags win",
                                 .group = {},
                                 .set = {},
                                 .get = {}});
    for (Option& option : command.options) option.help = replaced(option.help, "\n", " ");
  }
  return commands;
}

}  // namespace

Command completion_command(std::function<std::vector<Command>()> all_commands) {
  auto kind = std::make_shared<std::string>();
  Command command{.name = "completion",
                  .summary = "print the completion of a shell, or the manual page",
                  .positionals = {{"for", true}}};
  command.options.push_back(text_option(
      {"for", "bash | zsh | fish | man", "what to print; all are made of these options", "Output"},
      *kind));
  command.run = [kind, all_commands]() -> Result<int> {
    const std::pair<const char*, std::string (*)(const std::vector<Command>&)> makers[] = {
        {"bash", bash}, {"zsh", zsh}, {"fish", fish}, {"man", man_page}};
    for (const auto& [name, make] : makers)
      if (*kind == name) {
        fmt::print("{}", make(described(all_commands())));
        return ok;
      }
    return Error{"completion",
                 fmt::format("'{}' is unknown; expected bash, zsh, fish or man", *kind)};
  };
  return command;
}

}  // namespace grove::app
