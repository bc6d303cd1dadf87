#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>

#include "grove/peer/peer.pb.h"

namespace grove::peer {

/// Times are seconds of a monotonic clock, given by the caller.
struct MembersOptions {
  std::string self;
  std::string holder;           ///< who holds the regularizer while it lives
  std::size_t expected = 1;     ///< members to wait for, for forget_seconds from the start
  double forget_seconds = 600;  ///< a member silent for so long is gone for good
};

/// What a peer knows of all members, spread by gossip: each member raises its own beat, everyone
/// passes on the newest it has heard. From it every peer works out by itself how many members there
/// are, who holds the regularizer and whether all have come to rest. Nobody coordinates.
class Members {
 public:
  Members(MembersOptions options, double now);

  /// This peer lives; `calm`: its residual has stayed below the tolerance. Moves its phase.
  void report(double residual, bool calm, std::uint64_t activations, double now);
  void report_step(double seconds) { own().set_step_seconds(seconds); }
  void merge(const v1::Heartbeat& heartbeat, double now);
  v1::Heartbeat heartbeat(double now) const;  ///< of the members that are there

  v1::Member::Phase phase() const { return own().phase(); }
  void set_done() { own().set_phase(v1::Member::DONE); }
  bool everyone_done(double now) const;

  /// Not heard for forget_seconds, or never since the start of this peer.
  bool gone(const std::string& name, double now) const;
  std::size_t count(double now) const;  ///< n, this peer included
  std::string holder(double now) const;
  double step_seconds(const std::string& name) const;  ///< as that member measured; 0: not known
  double worst_residual(double now) const;             ///< over the members that are there

 private:
  struct Known {
    v1::Member member;
    double heard_at = 0;
  };
  v1::Member& own() { return known_.at(options_.self).member; }
  const v1::Member& own() const { return known_.at(options_.self).member; }
  bool live(const Known& known, double now) const;
  bool waiting_for_start(double now) const;
  bool all_reached(v1::Member::Phase phase, double now) const;
  bool anyone_done() const;

  MembersOptions options_;
  double began_;
  std::map<std::string, Known> known_;
};

}  // namespace grove::peer
