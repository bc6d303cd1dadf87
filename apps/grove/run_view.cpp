#include "run_view.h"

#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include <spawn.h>
#include <unistd.h>

#include "grove/view/runs.h"
#include "plugin.h"
#include "terminal.h"

namespace grove::app {
namespace {

/// Opens the address where there is a desktop. Without one the address is on the terminal.
void open_browser(std::string address) {
  if (std::getenv("DISPLAY") == nullptr && std::getenv("WAYLAND_DISPLAY") == nullptr) return;
  std::string program = "xdg-open";
  char* arguments[] = {program.data(), address.data(), nullptr};
  pid_t process = 0;
  [[maybe_unused]] const int failed =
      ::posix_spawnp(&process, program.c_str(), nullptr, nullptr, arguments, environ);
}

}  // namespace

void announce(const ViewServer& server, bool is_result) {
  if (is_result)
    print_result(server.address() + "\n");
  else
    print_note("the view is at " + server.address());
  if (::isatty(STDERR_FILENO)) open_browser(server.address());
}

void serve_until_interrupted() {
  if (interrupted()) return;
  watch_for_interrupts();
  print_note("the view is served until Ctrl-C");
  while (!interrupted()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

Result<std::unique_ptr<RunView>> RunView::start(const Outputs& outputs) {
  if (!outputs.view) return std::unique_ptr<RunView>();
  auto view = std::make_unique<RunView>();
  auto server = start_view(outputs.listen, view->runs_);
  if (!server) return server.error();
  view->server_ = std::move(*server);
  announce(*view->server_, /*is_result=*/false);
  return view;
}

void RunView::follow(const std::string& name, RunHooks& hooks) {
  hooks.agents_wanted = true;
  hooks.began = [this, name](const RunRecord& record) {
    nlohmann::json start = to_json(record);
    start.erase("outcome");
    runs_->begin(name, std::move(start));
  };
  hooks.measured = [this, shown = std::move(hooks.measured)](const TracePoint& point) {
    shown(point);
    runs_->add_row(point);
  };
  hooks.measured_agents = [this](const AgentTrace& trace) { runs_->show_agents(trace); };
}

void RunView::finish(const std::string& name, nlohmann::json record) {
  nlohmann::json all = no_runs();
  if (const Status status = add_runs(name, std::move(record), all); !status)
    print_note("the view cannot show the result: " + status.error().text());
  runs_->end(std::move(all));
  serve_until_interrupted();
}

}  // namespace grove::app
