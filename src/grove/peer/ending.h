#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grove/peer/checkpoint.h"
#include "grove/peer/peer.h"
#include "grove/peer/peer.pb.h"

namespace grove::peer {

/// Whether the peer has an answer of the network, or at least the one it was stopped at.
bool has_model(PeerOutcome outcome);

struct EndingOptions {
  double linger_seconds = 30;
  double forget_seconds = 600;
  std::size_t members = 1;                   ///< expected
  bool stay = false;                         ///< until it is asked to stop
  SavedPhase resumed = SavedPhase::working;  ///< phase of the checkpoint
};

/// The facts at a heartbeat from which a peer decides whether it ends.
struct EndingFacts {
  double now = 0;
  bool asked_to_stop = false;
  bool duplicate = false;  ///< an earlier process runs with this peer's name and key
  v1::Member::Phase phase = v1::Member::WORKING;
  bool everyone_stopped = false;
  bool complete = true;         ///< no member is missing
  bool alone = false;           ///< no other member is live
  double last_unfinished = -1;  ///< time of the newest heartbeat of a member that has not stopped
  double last_heard = -1;       ///< time of the newest heartbeat of any other member
  double round_trip = 0;        ///< the longest of the connected links, in seconds
  std::string run = {};         ///< what this peer computes
};

/// Decides when a peer ends, and how. A peer that has stopped stays for those that have not,
/// because they need its messages.
class Ending {
 public:
  Ending(EndingOptions options, double now) : options_(options), started_(now) {}

  std::optional<PeerOutcome> decide(const EndingFacts& facts);

 private:
  bool has_said_goodbye(const EndingFacts& facts);
  std::optional<PeerOutcome> decide_alone(const EndingFacts& facts) const;
  bool left_with_the_answer(const EndingFacts& facts) const;

  EndingOptions options_;
  double started_;
  double stopped_since_ = -1;
  bool had_company_ = false;
  std::string agreed_run_;  ///< in which this process stopped last; empty: none
  int goodbyes_ = 0;
  double first_goodbye_ = 0;
};

}  // namespace grove::peer
