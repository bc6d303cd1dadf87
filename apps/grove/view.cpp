#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "command.h"
#include "grove/base/file.h"
#include "grove/base/text.h"
#include "grove/view/page.h"
#include "grove/view/runs.h"
#include "grove/view/server.h"
#include "outputs.h"
#include "plugin.h"
#include "run_view.h"
#include "terminal.h"

namespace grove::app {
namespace {

struct ViewSettings {
  std::vector<std::string> records;
  std::vector<std::string> peers;
  std::string operator_folder = ".";
  Outputs outputs;
};

/// The status of peers, twice a second, until Ctrl-C.
Result<int> view_peers(const ViewSettings& settings) {
  if (!settings.records.empty()) return Error{"--peer", "expected no records beside it"};
  if (!settings.outputs.report.empty()) return Error{"--report", "expected records"};
  const auto watch = start_watch(settings.operator_folder, settings.peers);
  if (!watch) return watch.error();
  const auto runs = std::make_shared<LiveRuns>();
  const auto server = ViewServer::start(settings.outputs.listen, runs);
  if (!server) return server.error();
  NetworkView network(*runs, "peers");
  watch_for_interrupts();
  announce(**server, /*is_result=*/true);
  print_note("the view is served until Ctrl-C");
  while (!interrupted()) {
    network.show((*watch)->ask(), monotonic_seconds());
    for (int k = 0; k < 10 && !interrupted(); ++k)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return ok;
}

Result<int> view(const ViewSettings& settings) {
  if (!settings.peers.empty()) return view_peers(settings);
  if (settings.records.empty())
    return Error{"view", "expected records or --peer; see grove view --help"};
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
  const auto server =
      ViewServer::start(settings.outputs.listen, std::make_shared<LiveRuns>(std::move(runs)));
  if (!server) return server.error();
  watch_for_interrupts();
  announce(**server, /*is_result=*/true);
  serve_until_interrupted();
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
                  .positionals = {{.option = "records", .several = true}},
                  .options = {record_files_option(settings->records)},
                  .run = [settings] { return view(*settings); }};
  command.options.push_back(list_option(
      {"peer", "[NAME@]HOST:PORT",
       "peers whose status is shown as it changes; NAME is the one in its certificate", "Input"},
      settings->peers, ','));
  command.options.push_back(
      text_option({"operator", "DIR",
                   "folder with ca.crt, operator.crt and operator.key, for --peer (.)", "Input"},
                  settings->operator_folder));
  add_listen_option(settings->outputs, command.options);
  add_report_option(settings->outputs, command.options);
  return command;
}

}  // namespace grove::app
