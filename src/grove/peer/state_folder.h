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

/// The folder with a peer's state. A full disk or a missing permission is logged once and does not
/// stop the peer.
class StateFolder {
 public:
  StateFolder(std::filesystem::path folder, CheckpointOwner owner,
              std::shared_ptr<spdlog::logger> log);
  ~StateFolder();
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;

  Status open();  ///< fails if another process uses the folder
  std::optional<Checkpoint> find();
  void reject(const std::string& reason);  ///< renames the checkpoint
  bool save(Checkpoint checkpoint);
  void discard_model();  ///< of an earlier run: it is not the answer of this one
  const std::string& error() const { return error_; }  ///< of the last save; empty: none

  Status write_model(const PeerConfig& config, const PeerProblem& problem, const Vector& answer,
                     const std::optional<AnswerCertificate>& certificate) const;
  /// What a fit's gossip saves; readable by the owner only.
  Status save_fit(const std::string& bytes) const;
  /// Of a fit, with the total of the inference.
  Status write_fit(const PeerConfig& config, const PeerProblem& problem, const Vector& answer,
                   const std::optional<AnswerCertificate>& certificate,
                   const std::optional<Vector>& total) const;
  Status write_contributions(const v1::AnswerAudit& audit) const;
  Status write_summary(const nlohmann::json& summary) const;

 private:
  std::filesystem::path checkpoint_file() const { return folder_ / "checkpoint.bin"; }

  std::filesystem::path folder_;
  CheckpointOwner owner_;
  std::shared_ptr<spdlog::logger> log_;
  std::string error_;
  int lock_ = -1;  ///< file descriptor
};

}  // namespace grove::peer
