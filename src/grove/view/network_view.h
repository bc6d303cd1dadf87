#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "grove/view/live.h"

namespace grove {

/// The answer of a peer: its status in the format "grove-peer-status/1", or null if it is silent.
struct PeerAnswer {
  std::string name;
  nlohmann::json status;
};

/// Turns the answers of peers into a run that goes on. Peers are other people's programs: an answer
/// that is not a status counts as silence, and all their texts are only texts.
class NetworkView {
 public:
  NetworkView(LiveRuns& runs, const std::string& network);

  /// All peers that were asked, in the same order every time. Neighbours that they name are shown,
  /// too. `seconds`: since any fixed moment.
  void show(const std::vector<PeerAnswer>& answers, double seconds);
  /// How the network ended, in words.
  void end(const std::string& detail);

 private:
  struct Link {
    double bytes = 0;
    bool connected = true;
  };
  struct Peer {
    nlohmann::json shown;  ///< as in agents[] of a record
    double residual = 0;
    double activations = 0;
    double heard_at = 0;
    bool active = false;
    bool asked = false;
    std::vector<std::pair<std::size_t, Link>> links;  ///< to peers with these indices
  };

  std::size_t index_of(const std::string& name);
  void read(const PeerAnswer& answer, double seconds);
  void hear_of_neighbours();
  nlohmann::json explanations(double seconds) const;

  LiveRuns& runs_;
  std::map<std::string, std::size_t> indices_;
  std::vector<Peer> peers_;
  std::uint64_t last_round_ = 0, shown_round_ = 0;
  bool has_rows_ = false;
  double began_ = -1;
};

}  // namespace grove
