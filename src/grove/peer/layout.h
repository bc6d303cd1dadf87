#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "grove/base/result.h"
#include "grove/peer/tls.h"
#include "grove/setup/config.h"
#include "grove/train/fit.h"

namespace grove::peer {

/// The folder of a network for a trial on one machine. It contains network.json, the authority, the
/// operator's certificate, and per peer its peer.toml, certificate, key, shard and state.
struct Layout {
  struct Peer {
    std::string name;
    std::string address;
    std::filesystem::path folder;
  };
  std::filesystem::path folder;
  std::string network;
  std::vector<Peer> peers;

  TlsFiles operator_files() const;
};

struct LayoutOptions {
  Config training;
  FitOptions fit;             ///< with a formula: `training.data` lists tables, one for each peer
  bool method_given = false;  ///< if not, peers that fit a formula choose the method
  std::string network = "grove";
  std::string out;
  std::string hosts;  ///< file of names and addresses; empty: a try-out on this machine
};

/// The options of `grove network init`, bound to `options`, which must outlive them.
std::vector<Option> options_of(LayoutOptions& options);

/// Reads the data, splits it among the peers and writes all files into a new folder.
Result<Layout> make_layout(const LayoutOptions& options);

Result<Layout> read_layout(const std::filesystem::path& folder);

}  // namespace grove::peer
