#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "grove/base/result.h"
#include "grove/peer/tls.h"
#include "grove/setup/config.h"

namespace grove::peer {

/// A network for a try-out on one machine, as a folder: network.json, the authority, the operator's
/// certificate, and per peer its peer.toml, certificate, key, shard and state.
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
  std::string network = "grove";
  std::string out;
};

/// The options of `grove network init`, bound to `options`, which must outlive them.
std::vector<Option> options_of(LayoutOptions& options);

/// Reads the data, deals it out and writes everything into a new folder.
Result<Layout> make_layout(const LayoutOptions& options);

Result<Layout> read_layout(const std::filesystem::path& folder);

}  // namespace grove::peer
