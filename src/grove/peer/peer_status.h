#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "grove/peer/hub.h"

namespace grove::peer {

/// A peer as it tells others about itself.
struct PeerStatus {
  std::string name;
  std::string phase = "starting";  ///< starting, working, calm, ready, done, stopped
  std::uint64_t activations = 0;
  std::uint64_t at_rest_since =
      0;                        ///< activation from which the residual stayed small; 0: it is not
  double residual = 0;          ///< its own
  double network_residual = 0;  ///< the largest it knows of
  std::size_t members = 0;
  std::string holder;
  int work = 1;                ///< E_i
  std::string work_reason;     ///< empty where E_i was given
  double links_raised = 1;     ///< by which its safeguard has multiplied the weight of its links
  std::uint64_t life = 0;      ///< how often it was started on this state, from 0
  double seconds = 0;          ///< since it started
  double checkpoint_age = -1;  ///< seconds since the last one; negative: none yet
  std::string checkpoint_trouble;
  std::vector<LinkStatus> links;
  std::array<std::uint64_t, refusal_kinds> strangers_refused{};
};

std::uint64_t bytes_of(const PeerStatus& status);  ///< sent and received
std::uint64_t refusals_of(const PeerStatus& status);
std::size_t connected_of(const PeerStatus& status);  ///< neighbours that are there

/// "grove-peer-status/1".
nlohmann::json to_json(const PeerStatus& status);

}  // namespace grove::peer
