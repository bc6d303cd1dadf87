// The plug-in with peers: one agent of a network, and networks on this machine.
#include "plugin.h"

void grove::app::grove_plugin_commands(std::vector<Command>& commands) {
  commands = {peer_command(), network_command(), audit_command(),
              site_command(), study_command(),   doctor_command()};
}
