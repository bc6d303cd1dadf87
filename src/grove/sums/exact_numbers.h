#pragma once

#include <optional>
#include <span>
#include <vector>

#include "grove/sums/fixed_point.h"

namespace grove {

/// Doubles as words of fixed point from 2^-192 to 2^192, whose sums over members are exact in any
/// order: each number is cut into four pieces of 96 bits.
class ExactNumbers {
 public:
  static constexpr std::size_t bytes_per_number = 64;

  ExactNumbers(std::size_t numbers, std::size_t members);

  const FixedPoint& shape() const { return shape_; }
  /// Nothing where a number is not finite or too large. Digits below 2^-192 are lost.
  std::optional<std::vector<std::uint64_t>> encode(std::span<const double> numbers) const;
  /// Of a sum of encoded numbers.
  std::vector<double> decode(std::span<const std::uint64_t> sum) const;

 private:
  FixedPoint shape_;
};

}  // namespace grove
