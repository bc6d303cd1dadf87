#pragma once

#include <functional>
#include <memory>
#include <string>

#include <spdlog/logger.h>
#include <nlohmann/json.hpp>

#include "grove/base/result.h"
#include "grove/peer/peer_config.h"

namespace grove::peer {

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

}  // namespace grove::peer
