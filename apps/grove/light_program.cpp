// grove: what is not in it, grove-full does.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "command.h"
#include "full_program.h"
#include "launcher.h"

namespace grove::app {
namespace {

char** arguments = nullptr;  ///< of main()

[[noreturn]] void become_full_program() {
  std::error_code error;
  const std::filesystem::path full =
      std::filesystem::read_symlink("/proc/self/exe", error).replace_filename("grove-full");
  ::execv(full.c_str(), arguments);
  std::exit(fail({full.string(), fmt::format("cannot start: {}; expected the program grove-full "
                                             "beside grove",
                                             std::strerror(errno))}));
}

bool asks_for_full_program(std::string_view argument) {
  return argument == "mpi" || argument == "--runtime=mpi";
}

/// Known by name, for the help; the rest of the command line is read by grove-full.
Command known(const char* name, const char* summary) {
  return {.name = name, .summary = summary, .run = []() -> Result<int> { become_full_program(); }};
}

}  // namespace

void become_full_program_if_needed(int argc, char** argv) {
  arguments = argv;
  constexpr std::array<std::string_view, 3> elsewhere{"data", "network", "peer"};
  const bool command = argc > 1 && std::ranges::find(elsewhere, argv[1]) != elsewhere.end();
  if (command || rank_from_launcher() != nullptr ||
      std::any_of(argv, argv + argc, asks_for_full_program))
    become_full_program();
}

Command data_command() { return known("data", data_summary); }
Command network_command() { return known("network", network_summary); }
Command peer_command() { return known("peer", peer_summary); }

Error without_mpi() { become_full_program(); }

}  // namespace grove::app
