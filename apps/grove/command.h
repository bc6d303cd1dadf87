#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "grove/setup/option.h"

namespace grove::app {

/// Exit codes scripts rely on.
/// `ended_by_user` is the code with which a shell reports a program that Ctrl-C ended.
enum ExitCode {
  ok = 0,
  bad_input = 2,
  diverged = 3,
  transport_failed = 4,
  disclosure_forbidden = 5,   ///< a disclosure rule forbids it; nothing was sent
  ended_without_members = 6,  ///< the answer lacks members, or there is none
  ended_by_user = 130
};

/// An argument without a flag: the value of the option of that name.
struct Positional {
  std::string option;
  bool required = false;
  bool several = false;  ///< one or more arguments; the option gets them joined by argument_end
};
inline constexpr char argument_end = '\0';  ///< the one character that no argument contains

/// A subcommand as the command line sees it. Options are bound to state that `run` owns.
struct Command {
  std::string name;
  std::string summary;
  std::vector<Positional> positionals;
  std::vector<Option> options;
  std::function<Result<int>()> run;  ///< the exit code, or the mistake in the input
  bool takes_config = false;         ///< --config FILE.toml sets any option; flags win
};

/// Sets the given options (by name), those of a --config file first, and runs the command.
int execute(const Command& command, const std::map<std::string, std::string>& given);

/// Prints "grove: where: what" on standard error and returns the exit code of bad input.
int fail(const Error& error);

inline constexpr const char* data_summary = "list known public data sets, or get one";
inline constexpr const char* audit_summary = "check what a peer has sent, and who contributed what";
inline constexpr const char* network_summary = "try out a network of peers on this machine";
inline constexpr const char* peer_summary = "run one agent of a network of machines";
inline constexpr const char* site_summary = "make the key and the certificate of a site";
inline constexpr const char* study_summary =
    "agree with other sites on what is computed: make, show, accept a study";
inline constexpr const char* doctor_summary =
    "say what keeps this site from taking part in a study";
inline constexpr const char* view_summary = "show run records, or peers as they work, in a browser";
inline constexpr const char* reproduce_summary =
    "repeat the paper's experiments and compare with its numbers";
inline constexpr const char* theory_summary =
    "evaluate Theorem 1 and Corollary 1 on an instance, next to a run";

/// Man page and completions of all commands, which the function loads.
Command completion_command(std::function<std::vector<Command>()> all_commands);
Command train_command();
Command fit_command();
Command summary_command();
Command compare_command();
Command predict_command();
Command plot_command();
Command export_command();
Command data_command();
Command reproduce_command();
Command theory_command();
Command peer_command();
Command network_command();
Command audit_command();
Command site_command();
Command study_command();
Command doctor_command();
Command view_command();

}  // namespace grove::app
