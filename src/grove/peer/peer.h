#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "grove/base/result.h"

namespace spdlog {
class logger;
}

namespace grove::peer {

struct PeerConfig;

enum class PeerOutcome {
  converged,
  converged_without,  ///< some members are not part of the answer
  peer_lost,          ///< nobody else was there, and the network had not converged
  stopped,            ///< as asked
  left,               ///< as asked, and the others go on without this peer
  duplicate,          ///< another process has this peer's name and key
  unsaved,            ///< the model could not be written
  unaudited,          ///< the audit log could not be written, so nothing more was sent
  forbidden,          ///< a disclosure rule forbids to take part
  changed             ///< of a fit: the members must agree again; run_peer() does so
};
std::string_view name_of(PeerOutcome outcome);

/// How a peer ended.
struct PeerEnd {
  PeerOutcome outcome;
  std::vector<std::string> without = {};  ///< names of the members that are missing
  std::size_t unseen = 0;                 ///< missing members whose names are unknown
  std::string rule = {}, detail = {};     ///< of disclosure, if the outcome is forbidden
  bool again = false;                     ///< the peer must start again
  std::shared_ptr<PeerConfig> next = {};  ///< with this configuration; null: with that of before
};
/// "peer-3, peer-5 and 2 more"; empty if nobody is missing.
std::string missing_text(const PeerEnd& end);

/// Services that the caller provides.
struct PeerHooks {
  std::shared_ptr<spdlog::logger> log;
  std::function<bool()> interrupted = [] { return false; };  ///< returns true after SIGTERM
  /// Reads the configuration again, and checks it, when the peer is asked to train anew. May be
  /// called by another thread.
  std::function<Result<std::shared_ptr<PeerConfig>>()> reload = {};
};

/// Runs one agent of a real network: trains with its neighbours until the network agrees to stop,
/// or until the peer is stopped. Writes checkpoint.bin, model.json and summary.json to the state
/// directory. An error means that the peer could not start.
Result<PeerEnd> run_peer(PeerConfig config, const PeerHooks& hooks);

/// The same for a peer.toml.
Result<PeerEnd> run_peer(const std::filesystem::path& config_file, const PeerHooks& hooks);

}  // namespace grove::peer
