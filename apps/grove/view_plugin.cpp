#include "grove/view/server.h"
#include "plugin.h"

void grove::app::grove_plugin_commands(std::vector<grove::app::Command>& commands) {
  commands.push_back(grove::app::view_command());
}

grove::ViewServer* grove::app::grove_plugin_view(const std::string& listen,
                                                 const std::shared_ptr<grove::LiveRuns>& runs,
                                                 std::optional<grove::Error>& error) {
  auto server = grove::ViewServer::start(listen, runs);
  if (server) return server->release();
  error = server.error();
  return nullptr;
}
