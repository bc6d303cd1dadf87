#pragma once

#include <string>
#include <vector>

#include "grove/base/result.h"

namespace grove::peer {

/// A peer and where it listens.
struct Host {
  std::string name;
  std::string address;  ///< host:port
};

/// Reads one `name address:port` a line; `#` starts a comment. Names and addresses differ.
Result<std::vector<Host>> read_hosts(const std::string& path);

}  // namespace grove::peer
