#pragma once

#include <algorithm>
#include <cstdint>

namespace grove {

/// How many of the seeds of a long test to run: sanitizers look at the code, which every seed runs,
/// and take ten times as long.
inline std::uint64_t seeds_to_run(std::uint64_t all) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr std::uint64_t share = 20;
#else
  constexpr std::uint64_t share = 1;
#endif
  return std::max<std::uint64_t>(all / share, 1);
}

}  // namespace grove
