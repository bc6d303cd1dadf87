#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "grove/base/types.h"

namespace grove {

/// What edge links weighed by curvature tell a neighbour, and how it lies in a payload: the two
/// versions and the two digests (as bits), the vector if there is one, the curvature if it is due.
struct CurvatureMessage {
  using Version = std::int64_t;
  static constexpr Version none = -1;
  static constexpr std::size_t header = 3;  ///< words before the vector

  Version version = none;   ///< of C_i, the sender's
  Version of_yours = none;  ///< of C_j, the receiver's, as the sender knows it
  /// Of C_i and of C_j. A process that lost its state may give a version again that an earlier one
  /// gave to another curvature, and somebody may remember that one.
  std::uint32_t digest = 0, digest_of_yours = 0;
  std::span<const double> vector;     ///< 2 P x_i - u_ij, made with these two; none without a C_j
  std::span<const double> curvature;  ///< the words of C_i, or none

  /// Nothing if the payload is too short. Whether the curvature is one is not looked at.
  static std::optional<CurvatureMessage> read(std::span<const double> payload, Index dimension);
  void append_to(std::vector<double>& payload) const;
};

}  // namespace grove
