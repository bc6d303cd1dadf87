#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <spdlog/logger.h>
#include <nlohmann/json.hpp>

#include "grove/base/result.h"
#include "grove/base/types.h"
#include "grove/peer/checkpoint.h"
#include "grove/peer/peer_config.h"

namespace grove::peer {

/// The folder a peer keeps its state in. A full disk or a missing right is told once and does not
/// stop the peer.
class StateFolder {
 public:
  StateFolder(std::filesystem::path folder, std::string fingerprint,
              std::shared_ptr<spdlog::logger> log);
  ~StateFolder();
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;

  Status open();  ///< an error: another process works with it
  std::optional<Checkpoint> find();
  void reject(const std::string& reason);  ///< sets the checkpoint aside
  bool save(Checkpoint checkpoint);
  const std::string& trouble() const { return trouble_; }  ///< of the last save; empty: none

  /// model.json and summary.json.
  Status write_results(const PeerConfig& config, const PeerProblem& problem, const Vector& answer,
                       const std::string& phase, nlohmann::json summary) const;

 private:
  std::filesystem::path checkpoint_file() const { return folder_ / "checkpoint.bin"; }

  std::filesystem::path folder_;
  std::string fingerprint_;
  std::shared_ptr<spdlog::logger> log_;
  std::string trouble_;
  int lock_ = -1;  ///< file descriptor
};

}  // namespace grove::peer
