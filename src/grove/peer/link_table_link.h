#pragma once

// Private to the link table: the state of one link.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "grove/peer/link_table.h"

namespace grove::peer {

struct LinkTable::Link {
  std::uint64_t session = 0;  ///< 0: not connected
  bool float32 = false;
  bool gossips_only = false;  ///< the neighbour has another encoding, or none yet
  LinkCounts counts;

  std::condition_variable outgoing_ready;
  std::uint64_t last_sent = 0;  ///< newest sequence that this process has sent to the neighbour
  v1::Iterate outgoing;
  bool has_outgoing = false;
  double outgoing_due = 0;  ///< monotonic seconds; in the future only with injected delays
  std::optional<v1::Heartbeat> outgoing_heartbeat;
  std::set<std::string> certificates_sent;  ///< in this session

  std::uint64_t last_accepted = 0;        ///< newest sequence accepted from the neighbour
  std::int64_t last_weight_version = -1;  ///< of the newest link weight accepted
  bool has_received = false;
  v1::Iterate received;
  std::int64_t taken_weight_version = -1;  ///< of the last link weight that the loop took
  bool took_weight = false;                ///< the loop's last call took a new link weight
  std::string last_rejection;
  std::optional<v1::Heartbeat> received_heartbeat;
  double echo = 0, echo_received_at = 0;  ///< sent_at of the newest heartbeat, and its arrival
  double round_trip = 0;                  ///< seconds, as last measured; 0: not yet
  v1::SignedMember newest_entry;          ///< of the neighbour, as the neighbour sent it
  v1::SignedMember proof;                 ///< the newest with the neighbour's latest epoch
  std::vector<double> estimate;
};

}  // namespace grove::peer
