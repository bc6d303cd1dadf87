#pragma once

// Private to the hub: what it keeps of one link.

#include <optional>
#include <vector>

#include "grove/runtime/peer/hub.h"

namespace grove::peer {

struct Hub::Link {
  std::uint64_t session = 0;  ///< 0: not connected
  bool float32 = false;
  LinkCounts counts;

  std::condition_variable something_to_say;
  std::uint64_t said = 0;  ///< newest sequence said to it, by this process
  v1::Iterate iterate;     ///< the newest word for it, or one that is on its way in parts
  bool iterate_waiting = false;
  double iterate_due = 0;  ///< monotonic seconds: later than now only with injected delays
  int sent = 0;            ///< how many of its values are on their way
  std::optional<v1::Heartbeat> heartbeat;

  std::uint64_t latest = 0;          ///< newest sequence accepted
  std::int64_t latest_version = -1;  ///< of the newest curvature accepted
  v1::Iterate arriving;              ///< in parts
  bool fresh = false;
  v1::Iterate heard;                ///< the newest that is complete
  std::int64_t taken_version = -1;  ///< of the last curvature that the loop took
  bool took_curvature = false;      ///< a new one, in the loop's last turn
  std::string last_refusal;
  std::optional<v1::Heartbeat> heard_heartbeat;
  std::vector<double> estimate;

  /// Of a session that is over. They may be large.
  void forget_words() {
    fresh = iterate_waiting = false;
    sent = 0;
    for (v1::Iterate* word : {&iterate, &arriving, &heard}) v1::Iterate().Swap(word);
  }
};

}  // namespace grove::peer
