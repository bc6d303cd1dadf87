#include "plugin.h"

void grove_plugin_commands(std::vector<grove::app::Command>& commands) {
  commands.push_back(grove::app::view_command());
}
