#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "grove/base/result.h"

namespace spdlog {
class logger;
}

namespace grove::peer {

struct PeerConfig;

enum class PeerOutcome { converged, stopped, unsaved /**< the model could not be written */ };

/// Services that the caller provides.
struct PeerHooks {
  std::shared_ptr<spdlog::logger> log;
  std::function<bool()> interrupted = [] { return false; };  ///< returns true after SIGTERM
};

/// Runs one agent of a real network: trains with its neighbours until the network agrees to stop,
/// or until the peer is stopped. Writes checkpoint.bin, model.json and summary.json to the state
/// directory. An error means that the peer could not start.
Result<PeerOutcome> run_peer(PeerConfig config, const PeerHooks& hooks);

/// The same for a peer.toml.
Result<PeerOutcome> run_peer(const std::filesystem::path& config_file, const PeerHooks& hooks);

}  // namespace grove::peer
