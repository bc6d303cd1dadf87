#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "grove/agent/answer_certificate.h"
#include "grove/peer/link_table.h"

namespace grove::peer {

/// The state of a peer, for status requests, metrics and the summary.
struct PeerStatus {
  std::string name;
  std::string phase = "starting";  ///< starting, working, calm, ready, done, stopped
  std::uint64_t activations = 0;
  /// Activation since which the residual has been below the tolerance; 0: it is above.
  std::uint64_t below_tolerance_since = 0;
  double residual = 0;  ///< of this peer
  std::optional<AnswerCertificate> certificate;
  double network_residual = 0;  ///< the largest of all known members
  std::size_t members = 0;
  std::string holder;
  std::string run;               ///< digest of the problem, the live members and their data
  std::string waiting_for;       ///< for whom and how long; empty: for nobody
  int work = 1;                  ///< E_i
  std::string work_reason;       ///< empty if the configuration gives E_i
  double links_raised = 1;       ///< factor by which the safeguard has multiplied the link weights
  std::uint64_t epoch = 0;       ///< of the sequence numbers
  double seconds = 0;            ///< since the start of the process
  double checkpoint_age = -1;    ///< seconds since the last checkpoint; negative: none yet
  std::string checkpoint_error;  ///< of the last attempt; empty: none
  double certificate_seconds = -1;  ///< until the certificate expires; -1 without TLS
  std::vector<LinkStatus> links;
  std::array<std::uint64_t, reject_reason_count> strangers_rejected{};
};

std::uint64_t total_bytes(const PeerStatus& status);  ///< sent and received
std::uint64_t rejection_count(const PeerStatus& status);
std::size_t connected_count(const PeerStatus& status);  ///< connected neighbours

/// The format "grove-peer-status/1".
nlohmann::json to_json(const PeerStatus& status);

}  // namespace grove::peer
