// The plug-in with the paper's experiments.
#include "plugin.h"

void grove::app::grove_plugin_commands(std::vector<Command>& commands) {
  commands = {reproduce_command(), theory_command()};
}
