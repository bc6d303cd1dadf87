#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>

#include "grove/peer/peer.pb.h"

namespace grove::peer {

/// All times are seconds of a monotonic clock; the caller provides them.
struct MembersOptions {
  std::string self;
  std::string holder;  ///< name of the peer that holds the regularizer as long as it is a member
  std::size_t expected = 1;     ///< members to wait for in the first forget_seconds
  double forget_seconds = 600;  ///< a member that is silent for longer is no longer a member
};

/// The members of the network, as one peer knows them by gossip. Each member counts its own
/// heartbeats, and every peer forwards the newest count of each member. From these every peer
/// determines the number of members, the holder of the regularizer and whether all have converged,
/// without a coordinator.
class Members {
 public:
  Members(MembersOptions options, double now);

  /// Counts a heartbeat of this peer and updates its phase.
  void report(double residual, bool locally_converged, std::uint64_t activations, double now);
  void report_step(double seconds) { own().set_step_seconds(seconds); }
  void merge(const v1::Heartbeat& heartbeat, double now);
  v1::Heartbeat heartbeat(double now) const;  ///< of the live members

  v1::Member::Phase phase() const { return own().phase(); }
  void set_stopped() { own().set_phase(v1::Member::STOPPED); }
  bool everyone_stopped(double now) const;

  /// The last heartbeat is older than forget_seconds, or none has arrived since the start.
  bool is_gone(const std::string& name, double now) const;
  std::size_t count(double now) const;  ///< n, including this peer
  std::string holder(double now) const;
  double step_seconds(const std::string& name) const;  ///< as that member measured; 0: unknown
  double worst_residual(double now) const;             ///< over the live members

 private:
  struct Known {
    v1::Member member;
    double received_at = 0;
  };
  v1::Member& own() { return known_.at(options_.self).member; }
  const v1::Member& own() const { return known_.at(options_.self).member; }
  bool is_live(const Known& known, double now) const;
  bool waiting_for_start(double now) const;
  bool all_reached(v1::Member::Phase phase, double now) const;
  bool anyone_stopped() const;

  MembersOptions options_;
  double started_;
  std::map<std::string, Known> known_;
};

}  // namespace grove::peer
