#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "grove/base/result.h"
#include "grove/data/registry.h"

namespace grove {

struct FetchProgress {
  std::uint64_t received_bytes = 0;  ///< including what an earlier try had left
  std::uint64_t total_bytes = 0;
};

struct FetchOptions {
  std::string base_url{public_sets_url};  ///< a mirror that keeps the site's paths
  std::string url;                        ///< the whole address of this one file, instead
  std::filesystem::path folder = ".";     ///< created if missing
  /// Called as bytes arrive; false stops the download, and what has come is kept for the next try.
  std::function<bool(const FetchProgress&)> progress;
  int connect_seconds = 30;
  int stall_seconds = 60;  ///< give up when less than 1 byte a second comes for so long
};

/// Downloads a set over https, http or from a file URL and returns where it is. The bytes go to
/// `NAME.part`, from where an interrupted download goes on; the file gets its name only when its
/// size and checksum are right. For a compressed set from a mirror that compressed it anew, the
/// checksum of the text inside decides. A file that is already there and right is not loaded again;
/// one that is there and wrong is left alone and is an error.
Result<std::filesystem::path> fetch(const PublicSet& set, const FetchOptions& options);

}  // namespace grove
