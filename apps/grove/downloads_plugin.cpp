// The plug-in with downloads of public data sets.
#include "plugin.h"

void grove::app::grove_plugin_commands(std::vector<Command>& commands) {
  commands = {data_command()};
}
