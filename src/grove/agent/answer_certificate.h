#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <span>

namespace grove {

/// What exact sums over all members say about an answer of the network.
struct AnswerCertificate {
  double objective = 0;      ///< sum f_i + n r
  double residual = 0;       ///< of the optimality condition of that sum (see stationarity())
  double decrement = 0;      ///< Newton decrement
  double relative_step = 0;  ///< of the Newton step from the answer, in the largest coordinate
  double rows = 0;           ///< samples of all members
  double value_at_zero = 0;  ///< sum f_i(0)
  double members = 0;        ///< that were counted
  /// The objective is at most this share above its minimum (a duality gap); `unknown` where an
  /// objective has no conjugate.
  double gap_bound = unknown;

  static constexpr double unknown = 1e100;  ///< finite, as peers send it
  static constexpr std::size_t size = 8;

  /// All of it as numbers, in the order of the fields, and back.
  std::array<double, size> numbers() const {
    return {objective, residual, decrement, relative_step, rows, value_at_zero, members, gap_bound};
  }
  static AnswerCertificate from(std::span<const double, size> all) {
    return {all[0], all[1], all[2], all[3], all[4], all[5], all[6], all[7]};
  }

  /// Half the squared decrement over |objective|: an estimate of the relative gap, exact in the
  /// limit for a smooth objective, and no bound.
  double gap_estimate() const {
    const double gap = 0.5 * decrement * decrement, scale = std::abs(objective);
    return scale > 0 ? gap / scale : gap;
  }
};

}  // namespace grove
