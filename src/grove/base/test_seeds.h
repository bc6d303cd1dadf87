#pragma once

#include <algorithm>
#include <cstdint>

namespace grove {

/// Sanitizers take ten times as long, and look at the code, which a part of a long test runs whole.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// How many of the seeds of a long test to run.
inline std::uint64_t seeds_to_run(std::uint64_t all) {
  return sanitized ? std::max<std::uint64_t>(all / 20, 1) : all;
}

}  // namespace grove
