#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace grove {

/// Fixed-point numbers in words of 64 bits, whose sums modulo 2^64 or 2^128 are exact in any order.
/// A number takes two words with a unit of 2^-80, an element of a matrix one with a unit of 2^-32;
/// each step of `coarseness` makes both units 2^16 times as large. The last word counts.
struct FixedPoint {
  std::size_t numbers = 0, elements = 0;
  unsigned coarseness = 0;
  std::size_t members = 1;  ///< that are summed: no sum overflows

  static constexpr unsigned coarsest = 4;

  std::size_t words() const { return 2 * numbers + elements + 1; }

  /// What does not fit is the largest number that does, and is counted in the last word.
  std::vector<std::uint64_t> encode(std::span<const double> given,
                                    std::span<const double> matrix) const;

  struct Decoded {
    std::vector<double> numbers, matrix;
    std::uint32_t overflowed = 0;  ///< members with numbers that did not fit
    std::uint32_t refused = 0;     ///< members that gave noise
  };
  Decoded decode(std::span<const std::uint64_t> sum) const;

  static constexpr std::uint64_t overflow_count = 1, refusal_count = std::uint64_t{1} << 32;
};

/// to += from, number by number, modulo 2^128 and 2^64.
void add_words(const FixedPoint& shape, std::span<const std::uint64_t> from,
               std::span<std::uint64_t> to);
/// to -= from.
void subtract_words(const FixedPoint& shape, std::span<const std::uint64_t> from,
                    std::span<std::uint64_t> to);

}  // namespace grove
