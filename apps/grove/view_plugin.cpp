// The plug-in that serves the view of a record to a browser.
#include "plugin.h"

void grove::app::grove_plugin_commands(std::vector<Command>& commands) {
  commands = {view_command()};
}
