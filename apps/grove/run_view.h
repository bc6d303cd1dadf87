#pragma once

#include <memory>
#include <string>

#include "grove/train/run.h"
#include "grove/view/live.h"
#include "grove/view/server.h"
#include "outputs.h"

namespace grove::app {

/// Prints the address, and opens it where there is a desktop.
void announce(const ViewServer& server, bool is_result);

/// Until Ctrl-C.
void serve_until_interrupted();

/// --view: the page of a run while it goes on, and after it until Ctrl-C.
class RunView {
 public:
  /// Null without --view.
  static Result<std::unique_ptr<RunView>> start(const Outputs& outputs);

  LiveRuns& runs() { return *runs_; }
  /// Shows the next run under this name, beside what the hooks do already.
  void follow(const std::string& name, RunHooks& hooks);
  /// Shows the record of a run or a comparison, as --report writes it, until Ctrl-C.
  void finish(const std::string& name, nlohmann::json record);

 private:
  std::shared_ptr<LiveRuns> runs_ = std::make_shared<LiveRuns>();
  std::unique_ptr<ViewServer> server_;
};

}  // namespace grove::app
