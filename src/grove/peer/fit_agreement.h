#pragma once

#include <memory>
#include <optional>

#include "grove/peer/audit.h"
#include "grove/peer/connections.h"
#include "grove/peer/fit_gossip.h"
#include "grove/peer/members.h"
#include "grove/peer/peer.h"
#include "grove/peer/peer_config.h"
#include "grove/peer/waiting.h"

namespace grove::peer {

/// What precedes the training of a fit: a peer exchanges heartbeats until all members have
/// summarized their tables, and sums until the columns have their means and scales. Its links have
/// no encoding in their hellos, so that peers that train already only gossip with it.
class FitAgreement {
 public:
  struct Parts {
    const PeerConfig& config;
    FitGossip& gossip;
    Signer* signer;   ///< null without TLS
    AuditLog* audit;  ///< null if nothing is recorded
    const TlsIdentity& identity;
    const PeerHooks& hooks;
  };
  /// The parts must outlive the agreement.
  explicit FitAgreement(Parts parts);

  /// Nothing if the peer was asked to stop. An error of the agreement is the same at all members.
  Result<std::optional<AgreedFit>> run(const Table& table);

 private:
  bool await_acceptances();
  FitExchange exchange();
  Result<std::vector<TableSummary>> unite(const std::vector<TableSummary>& own);
  Vector sum(const std::vector<Vector>& own);
  bool fits() const { return numbers_ <= most_numbers_; }
  template <class Done>
  bool pump_until(const Done& done, double until);
  void beat(double now);
  void let_others_know();

  Parts parts_;
  MembersOptions members_options() const;
  LinkTable links_;
  Members members_;
  WaitingLog waiting_log_;
  std::uint64_t published_ = 0;
  double started_, next_beat_ = 0;
  std::atomic<bool> stop_requested_ = false;
  bool stopped_ = false, stale_ = false, overflowed_ = false;
  /// Of the sums so far, and the largest so many for which the parts of all members fit into a
  /// heartbeat. Equal at all members.
  std::size_t numbers_ = 0, most_numbers_;
  std::string summary_;
  Connections connections_;  ///< last, because its threads use the members above
};

/// The columns that formula and roles name, and the table lacks.
std::vector<std::string> missing_columns(const FitOptions& fit, const Table& table);

/// The settings of a fit that all members have in common before they agree.
Schema fit_schema(const PeerConfig& config);

}  // namespace grove::peer
