#pragma once

#include <chrono>

#include <grpc/support/time.h>

namespace grove::peer {

/// Seconds of the monotonic clock, which unlike the wall clock does not jump.
inline double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline std::chrono::steady_clock::time_point time_point_at(double monotonic) {
  return std::chrono::steady_clock::time_point(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(
          std::chrono::duration<double>(monotonic)));
}

/// A deadline for gRPC, on its monotonic clock.
inline gpr_timespec deadline_in(std::chrono::milliseconds time) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_millis(time.count(), GPR_TIMESPAN));
}

}  // namespace grove::peer
