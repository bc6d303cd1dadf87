#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "command.h"
#include "grove/base/result.h"
#include "grove/runtime/cluster.h"
#include "grove/view/network_view.h"
#include "grove/view/server.h"

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

/// Asks peers for their status.
class PeerWatch {
 public:
  virtual ~PeerWatch() = default;
  virtual std::vector<PeerAnswer> ask() = 0;  ///< in the order in which they were given
};

/// Every plug-in defines some of these functions. The caller deletes what they return; where that
/// is null, `error` says why.
extern "C" {
void grove_plugin_commands(std::vector<Command>& commands);
ClusterSession* grove_plugin_session();
ViewServer* grove_plugin_view(const std::string& listen, const std::shared_ptr<LiveRuns>& runs,
                              std::optional<Error>& error);
PeerWatch* grove_plugin_watch(const std::string& folder, const std::vector<std::string>& addresses,
                              std::optional<Error>& error);
}

inline constexpr std::string_view every_plugin = "*";

/// The commands that plug-ins have. If `wanted` is every_plugin, all that are there are loaded. If
/// `wanted` names one of them, its plug-in is loaded and the command is complete; the others have a
/// name and a summary only. An error: the plug-in of `wanted` is not there; the text says how to
/// get it.
Result<std::vector<Command>> plugin_commands(std::string_view wanted);

/// Loads the plug-in for MPI and starts MPI.
Result<ClusterSession*> start_session();

/// Loads the plug-in of the view and serves these runs.
Result<std::unique_ptr<ViewServer>> start_view(const std::string& listen,
                                               const std::shared_ptr<LiveRuns>& runs);

/// Loads the plug-in of the peers. `folder` has the operator's certificate and key.
Result<std::unique_ptr<PeerWatch>> start_watch(const std::string& folder,
                                               const std::vector<std::string>& addresses);

}  // namespace grove::app
