#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "grove/base/types.h"
#include "grove/peer/contributions.h"
#include "grove/peer/peer.pb.h"
#include "grove/peer/signer.h"

namespace grove::peer {

class Acceptances;

/// All times are seconds of a monotonic clock; the caller provides them.
struct MembersOptions {
  std::string self;
  std::string holder;  ///< name of the peer that holds the regularizer as long as it is a member
  std::size_t expected = 1;     ///< members to wait for in the first forget_seconds
  double forget_seconds = 600;  ///< a member that is silent for longer is no longer a member
  double tolerance = std::numeric_limits<double>::infinity();  ///< of the residuals
  std::string problem = {};                  ///< name of the network, and the schema, as text
  std::string data = {};                     ///< keyed digest of this peer's data
  std::uint64_t process = 0;                 ///< number of this process; larger if it started later
  std::vector<std::string> neighbours = {};  ///< expected to become members
  Signer* signer = nullptr;                  ///< null without TLS; must outlive the members
  std::string sum_key = {};                  ///< of this process, for masked sums; empty: none
  Contributions* contributions = nullptr;    ///< null: not agreed; must outlive the members
  Acceptances* acceptances = nullptr;        ///< of a study; null: there is none
  double twin_seconds = 1;  ///< two processes of one member that beat within this time both run
};

/// The time of the start in microseconds, and random bits that keep two processes apart.
std::uint64_t process_number();

/// A member that this peer waits for.
struct AwaitedMember {
  std::string name;            ///< empty: the peer knows that members are missing, but no names
  std::size_t count = 1;       ///< of members without names
  double silent_seconds = -1;  ///< negative: it has sent no heartbeat since this peer started
  bool working = false;        ///< it is live, but has not converged
};

/// The members of the network, as one peer knows them by gossip. Each member counts and signs its
/// own heartbeats, and every peer forwards the newest of each member. From these every peer
/// determines the number of members, the holder of the regularizer and whether all have converged,
/// without a coordinator.
///
/// The run is the digest of the problem and of the live members and their data. Two peers with the
/// same run compute the same optimum. Only members of the same run count towards the stop.
///
/// A member may have two processes by mistake. Entries of both are forwarded, nobody converges
/// while both beat, and each names the other in its entry. The process that started later ends when
/// it reads its own number in an entry of the earlier one: an entry of a process that has ended, or
/// one that a neighbour repeats, cannot contain it.
class Members {
 public:
  Members(MembersOptions options, double now);

  /// Counts a heartbeat of this peer and updates its phase.
  void report(double residual, bool locally_converged, std::uint64_t activations, double now);
  void beat() { own().set_heartbeats(own().heartbeats() + 1); }  ///< without news
  void report_step(double seconds) { own().set_step_seconds(seconds); }
  /// The answer is certified for the live members, which needs no further agreement to stop.
  void set_certified(bool certified) { certified_ = certified; }
  /// Whether the live members are exactly these, sorted, and signed entries announce their data.
  bool are_exactly(std::span<const AgentId> members, std::span<const std::uint32_t> data,
                   double now) const;
  void set_fit_held(std::uint64_t digest) { own().set_fit_held(digest); }
  /// Every live member has the parts of a fit that this peer has.
  bool all_hold_fit(double now) const;
  void set_epoch(std::uint32_t epoch) { own().set_epoch(epoch); }
  void merge(const v1::Heartbeat& heartbeat, double now);
  /// The signed entries of the members, this peer's first.
  v1::Heartbeat heartbeat(double now) const;

  v1::Member::Phase phase() const { return own().phase(); }
  void leave() { own().set_phase(v1::Member::LEFT); }
  const std::string& run() const { return own().run(); }
  /// The last report() was the first that had stopped in this run.
  bool agreed_anew() const { return agreed_anew_; }
  bool everyone_stopped(double now) const;
  /// A process with the same name and key runs that started earlier, so this one must end.
  bool is_duplicate() const { return duplicate_; }

  /// The last heartbeat is older than forget_seconds, or none has arrived since the start, or the
  /// member has left.
  bool is_gone(const std::string& name, double now) const;
  bool has_left(const std::string& name) const;
  bool has_stopped(const std::string& name) const;  ///< in the run of this peer
  std::size_t count(double now) const;              ///< n, including this peer
  std::vector<std::string> live(double now) const;  ///< names, including this peer
  std::vector<v1::Member> live_entries(double now) const;
  /// Members that are known and not live, including those that left.
  std::vector<std::string> missing(double now) const;
  /// Members that were never seen and whose names are unknown.
  std::size_t unseen(double now) const;
  std::vector<AwaitedMember> awaited(double now) const;
  std::string holder(double now) const;
  double step_seconds(const std::string& name) const;  ///< as that member measured; 0: unknown
  double worst_residual(double now) const;             ///< over the live members
  /// Time of the newest heartbeat of a member that has not stopped; negative: there is none.
  double last_unfinished(double now) const;
  double last_heard(double now) const;  ///< the same of any other member

 private:
  /// The newest entry of one process of a member.
  struct Process {
    std::uint64_t heartbeats = 0;
    v1::SignedMember entry = {};
    double received_at = 0;
  };
  struct Known {
    v1::Member member;  ///< of the process whose entry advanced last
    v1::SignedMember entry = {};
    double received_at = 0;
    std::map<std::uint64_t, Process> processes = {};  ///< by number; of this peer, all others
  };
  v1::Member& own() { return known_.at(options_.self).member; }
  const v1::Member& own() const { return known_.at(options_.self).member; }
  bool is_recent(const Known& known, double now) const;
  bool is_live(const Known& known, double now) const;
  bool waiting_for_start(double now) const;
  bool all_seen(double now) const;
  std::size_t left() const;  ///< number of members that have left
  bool claims(const v1::Member& member, v1::Member::Phase phase) const;
  bool all_reached(v1::Member::Phase phase, double now) const;
  bool anyone_stopped(double now) const;
  std::string run_of(double now) const;
  bool advances(const Known& known, const v1::Member& received) const;
  static void note_process(Known& known, const v1::Member& received, const v1::SignedMember& entry,
                           double now);
  bool has_twin(double now) const;
  void merge_own(const v1::Member& received, const v1::SignedMember& entry, double now);
  void merge_other(v1::Member received, const v1::SignedMember& entry, double now);

  MembersOptions options_;
  double started_;
  std::map<std::string, Known> known_;
  std::set<std::string> seen_;  ///< every name that was ever a member, and the neighbours
  bool duplicate_ = false;
  bool certified_ = false;
  bool agreed_anew_ = false;
};

}  // namespace grove::peer
