#pragma once

// Private to the hub: what it keeps of one link.

#include <optional>
#include <vector>

#include "grove/peer/hub.h"
#include "grove/peer/link_stream.h"

namespace grove::peer {

struct Hub::Link {
  std::uint64_t session = 0;  ///< 0: not connected
  bool float32 = false;
  LinkCounts counts;

  std::condition_variable something_to_say;
  std::uint64_t said = 0;  ///< newest sequence said to it, by this process
  v1::Iterate iterate;     ///< without its values,
  grpc::Slice values;      ///< which are ready to be sent
  bool iterate_waiting = false;
  double iterate_due = 0;  ///< monotonic seconds: later than now only with injected delays
  std::optional<v1::Heartbeat> heartbeat;

  std::uint64_t latest = 0;          ///< newest sequence accepted
  std::int64_t latest_version = -1;  ///< of the newest curvature accepted
  bool fresh = false;
  v1::Iterate heard;
  std::int64_t taken_version = -1;  ///< of the last curvature that the loop took
  bool took_curvature = false;      ///< a new one, in the loop's last turn
  std::string last_refusal;
  std::optional<v1::Heartbeat> heard_heartbeat;
  std::vector<double> estimate;
};

}  // namespace grove::peer
