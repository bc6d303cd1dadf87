#pragma once

// Private to the peer: the loop of one process, from its start to its end.

#include <atomic>
#include <condition_variable>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "grove/peer/audit.h"
#include "grove/peer/connections.h"
#include "grove/peer/contributions.h"
#include "grove/peer/ending.h"
#include "grove/peer/fit_gossip.h"
#include "grove/peer/members.h"
#include "grove/peer/metrics.h"
#include "grove/peer/peer_agent.h"
#include "grove/peer/peer_config.h"
#include "grove/peer/peer_status.h"
#include "grove/peer/privacy_ledger.h"
#include "grove/peer/signer.h"
#include "grove/peer/state_folder.h"
#include "grove/peer/waiting.h"
#include "grove/peer/work_pace.h"

namespace grove::peer {

inline SavedPhase saved_phase(v1::Member::Phase phase) {
  if (phase == v1::Member::STOPPED) return SavedPhase::stopped;
  return phase == v1::Member::READY_TO_STOP ? SavedPhase::ready : SavedPhase::working;
}

class PeerLoop {
 public:
  struct Security {
    TlsIdentity identity;
    std::shared_ptr<Signer> signer;   ///< null without TLS
    std::shared_ptr<AuditLog> audit;  ///< null if nothing is recorded
  };

  /// `gossip` of a fit: null without one.
  PeerLoop(PeerConfig config, PeerProblem problem, Security security, const PeerHooks& hooks,
           std::shared_ptr<FitGossip> gossip = nullptr);
  ~PeerLoop() { stop_beating(); }
  PeerLoop(const PeerLoop&) = delete;
  PeerLoop& operator=(const PeerLoop&) = delete;

  Result<PeerEnd> run();

 private:
  // The start.
  Status open_network();
  void restore_links();
  bool is_neighbour(const std::string& name) const;
  void prepare_agent();
  SavedPhase resume(const Checkpoint& checkpoint);
  void make_agent(PeerStart start);
  PeerStart start_point(bool has_checkpoint);
  bool all_connected() const;
  bool asked_to_stop() const;
  std::optional<PeerEnd> await_acceptances();
  std::optional<PeerOutcome> exchange_acceptances(double now);
  Status request_retraining();
  PeerEnd again_if_asked(PeerEnd end) const;
  bool weights_changed() const;

  // Activations and heartbeats.
  bool wait_to_activate();
  void activate(double now);
  void release_memory();
  void log_events();
  void announce_epoch(double now);
  Status open_ledger();
  void heartbeat(double now);
  void merge_heartbeats(double now);
  v1::Heartbeat own_heartbeat(double now);
  void follow_fit(double now);
  void sum_inference(const std::string& run, const std::vector<std::string>& members);
  bool may_end(double now) const;
  void keep_beating();
  void stop_beating();
  void note_agreement();
  void log_waiting(double now);
  static std::vector<AwaitedMember> absent_only(std::vector<AwaitedMember> awaited);
  void choose_pace();
  bool locally_converged(double now);
  bool is_certified(double now) const;
  bool is_beyond_masks(double now);
  void follow_links(double now);
  void follow_membership(double now);
  void check_members(double now);

  // The end, and what others see.
  void save(double now);
  void save_fit();
  void decide_end(double now);
  Result<PeerEnd> finish();
  void write_agreement(double now);
  void write_results(PeerEnd& end, const Vector& answer,
                     const std::optional<AnswerCertificate>& certificate);
  std::optional<AnswerCertificate> certificate() const;
  Status write_fit(const Vector& answer, const std::optional<AnswerCertificate>& certificate) const;
  Status write_contributions(nlohmann::json& summary, const Vector& answer);
  void update_status(double now);
  PeerStatus status() const;

  PeerConfig config_;
  PeerProblem problem_;
  std::shared_ptr<Signer> signer_;
  std::shared_ptr<AuditLog> audit_;
  const PeerHooks& hooks_;
  double started_;
  StateFolder folder_;
  std::optional<PrivacyLedger> ledger_;  ///< none: no differential privacy
  LinkTable links_;
  std::mutex members_mutex_;
  std::optional<Contributions> contributions_;  ///< none: the members did not agree on them
  Members members_;
  std::shared_ptr<FitGossip> fit_;  ///< null: no fit; guarded by the mutex of the members
  std::unique_ptr<PeerAgent> agent_;
  std::optional<Ending> ending_;
  std::optional<PeerOutcome> outcome_;
  std::optional<DisclosureViolation> violation_;
  std::atomic<bool> stop_requested_ = false, leave_requested_ = false;
  mutable std::mutex status_mutex_;
  PeerStatus status_;
  std::shared_ptr<PeerConfig> next_;  ///< not null: asked to train anew; guarded like the status

  std::optional<Checkpoint> checkpoint_;  ///< found at the start; the agent takes it
  WorkPace pace_{problem_.work};
  double wait_timeout_ = config_.wait_timeout_seconds;
  double last_activation_ = 0, last_trim_ = 0, next_heartbeat_ = 0, last_save_ = started_,
         saved_at_ = -1;
  double round_trip_ = 0;  ///< the longest of the connected links, as of the last heartbeat
  double worst_residual_since_heartbeat_ = 0;
  int heartbeats_below_tolerance_ = 0;
  double below_tolerance_at_ = 0;  ///< time of the first of these heartbeats
  bool said_uncertified_ = false;
  int resets_ = 0;  ///< of the agent; those already logged
  std::uint64_t below_tolerance_since_ = 0;
  std::uint64_t published_epoch_ = 0;
  std::size_t events_logged_ = 0;
  std::optional<Error> fit_error_;  ///< the same at all members
  std::uint64_t fit_saved_ = 0;     ///< what the gossip held when it was saved last
  std::string fit_about_;           ///< of the sums of the inference that were begun last
  Vector agreed_answer_;            ///< at the last agreement to stop
  double agreed_residual_ = std::numeric_limits<double>::infinity();
  std::optional<AnswerCertificate> agreed_certificate_;
  std::map<std::string, double> last_connected_;  ///< neighbours, monotonic seconds
  std::string waiting_;
  WaitingLog waiting_log_;

  double next_expiry_warning_ = 0;
  double last_beat_ = 0;       ///< of the loop
  bool stop_beating_ = false;  ///< both guarded by the mutex of the members
  std::condition_variable beater_ended_;
  std::thread beater_;

  // Last, because their threads use the members above.
  Connections connections_;
  std::unique_ptr<Metrics> metrics_;
};

}  // namespace grove::peer
