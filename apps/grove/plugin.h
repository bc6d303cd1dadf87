#pragma once

#include <string_view>
#include <vector>

#include "command.h"
#include "grove/base/result.h"
#include "grove/runtime/cluster.h"

namespace grove::app {

// The program loads some of its parts, the plug-ins, when a command first asks for them: their
// libraries (gRPC, Open MPI, libcurl) may be missing, and would add 20 ms to every other command.
// docs/decisions/one-program.md has the reasons and the figures.

/// MPI in this process: started by the constructor, ended by the destructor.
class ClusterSession {
 public:
  virtual ~ClusterSession() = default;
  virtual Cluster& cluster() = 0;
  /// Ends all processes of the job at once, with this exit code.
  virtual void abort(int exit_code) = 0;
};

/// Every plug-in defines one of these two functions.
extern "C" {
void grove_plugin_commands(std::vector<Command>& commands);
ClusterSession* grove_plugin_session();  ///< the caller deletes the session
}

/// The commands that plug-ins have. If `wanted` names one of them, its plug-in is loaded and the
/// command is complete; the others have a name and a summary only. An error: the plug-in of
/// `wanted` is not there; the text says how to get it.
Result<std::vector<Command>> plugin_commands(std::string_view wanted);

/// Loads the plug-in for MPI and starts MPI.
Result<ClusterSession*> start_session();

}  // namespace grove::app
