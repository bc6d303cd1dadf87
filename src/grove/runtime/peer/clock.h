#pragma once

#include <chrono>

namespace grove::peer {

/// Seconds of the monotonic clock: the wall clock may jump, this one does not.
inline double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline std::chrono::steady_clock::time_point time_point_at(double monotonic) {
  return std::chrono::steady_clock::time_point(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(
          std::chrono::duration<double>(monotonic)));
}

}  // namespace grove::peer
