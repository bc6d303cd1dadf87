#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

#include <spawn.h>
#include <unistd.h>

#include "command.h"
#include "grove/base/file.h"
#include "grove/base/text.h"
#include "grove/view/page.h"
#include "grove/view/runs.h"
#include "grove/view/server.h"
#include "outputs.h"
#include "terminal.h"

namespace grove::app {
namespace {

struct ViewSettings {
  std::vector<std::string> records;
  std::string listen = "127.0.0.1:0";
  Outputs outputs;
};

/// Opens the address where there is a desktop.
void open_browser(std::string address) {
  if (std::getenv("DISPLAY") == nullptr && std::getenv("WAYLAND_DISPLAY") == nullptr) return;
  std::string program = "xdg-open";
  char* arguments[] = {program.data(), address.data(), nullptr};
  pid_t process = 0;
  // Without such a program the address is on the terminal.
  [[maybe_unused]] const int failed =
      ::posix_spawnp(&process, program.c_str(), nullptr, nullptr, arguments, environ);
}

Result<int> view(const ViewSettings& settings) {
  if (Status status = check_outputs(settings.outputs, settings.records); !status)
    return status.error();
  nlohmann::json runs = no_runs();
  for (const std::string& path : settings.records)
    if (Status status = add_run_file(path, runs); !status) return status.error();
  if (!settings.outputs.report.empty()) {
    if (Status status = write_file_atomically(settings.outputs.report, view_page(&runs)); !status)
      return Error{"--report", status.error().text()};
    return ok;
  }
  const auto server = ViewServer::start(settings.listen, runs);
  if (!server) return server.error();
  watch_for_interrupts();
  print_result((*server)->address() + "\n");
  print_note("the view is served until Ctrl-C");
  if (::isatty(STDOUT_FILENO)) open_browser((*server)->address());
  while (!interrupted()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return ok;
}

Option record_files_option(std::vector<std::string>& target) {
  return {"records",
          "RECORD.json...",
          "records written by --record of grove train, fit or compare",
          "Input",
          [&target](std::string_view given) -> Status {
            target.clear();
            for (const std::string_view path : split(given, argument_end))
              target.emplace_back(path);
            return success();
          },
          [&target] { return nlohmann::json(target); }};
}

}  // namespace

Command view_command() {
  auto settings = std::make_shared<ViewSettings>();
  Command command{.name = "view",
                  .summary = view_summary,
                  .positionals = {{.option = "records", .required = true, .several = true}},
                  .options = {record_files_option(settings->records)},
                  .run = [settings] { return view(*settings); }};
  command.options.push_back(text_option(
      {"listen", "HOST:PORT", "where the page is served (127.0.0.1, any free port)", "Output"},
      settings->listen));
  add_report_option(settings->outputs, command.options);
  return command;
}

}  // namespace grove::app
