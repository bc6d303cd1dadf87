#pragma once

#include <functional>
#include <memory>
#include <string>

#include <spdlog/logger.h>
#include <nlohmann/json.hpp>

#include "grove/base/result.h"
#include "grove/peer/peer_config.h"

namespace grove::peer {

enum class PeerOutcome { converged, stopped, unsaved /**< its answer could not be written */ };

/// What the peer may not decide itself.
struct PeerHooks {
  std::shared_ptr<spdlog::logger> log;
  std::function<bool()> interrupted = [] { return false; };  ///< SIGTERM came
};

/// One agent of a real network, from start to end: trains with its neighbours until the network
/// agrees that it is done, or until it is told to stop. Leaves checkpoint.bin, model.json and
/// summary.json in its state directory. An error: it could not start.
Result<PeerOutcome> run_peer(PeerConfig config, const PeerHooks& hooks);

}  // namespace grove::peer
