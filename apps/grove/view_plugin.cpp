// The plug-in that serves the view to a browser.
#include "grove/view/server.h"
#include "plugin.h"

namespace grove::app {

void grove_plugin_commands(std::vector<Command>& commands) { commands = {view_command()}; }

ViewServer* grove_plugin_view(const std::string& listen, const std::shared_ptr<LiveRuns>& runs,
                              std::optional<Error>& error) {
  auto server = ViewServer::start(listen, runs);
  if (server) return server->release();
  error = server.error();
  return nullptr;
}

}  // namespace grove::app
