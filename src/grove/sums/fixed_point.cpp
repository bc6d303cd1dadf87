#include "grove/sums/fixed_point.h"

#include <cassert>
#include <cmath>
#include <limits>

namespace grove {
namespace {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

constexpr int number_unit = -80, element_unit = -32, coarser = 16;
constexpr int number_bits = 126, element_bits = 62;  ///< of a sum, without its sign

/// Exponent of the unit.
int unit_of(int finest, unsigned coarseness) {
  return finest + coarser * static_cast<int>(coarseness);
}

UnsignedWide wide_at(std::span<const std::uint64_t> words, std::size_t k) {
  return static_cast<UnsignedWide>(words[2 * k + 1]) << 64 | words[2 * k];
}

void put_wide(UnsignedWide value, std::span<std::uint64_t> words, std::size_t k) {
  words[2 * k] = static_cast<std::uint64_t>(value);
  words[2 * k + 1] = static_cast<std::uint64_t>(value >> 64);
}

/// number / 2^unit to the nearest integer, within the limit; notes what does not fit.
template <class Integer>
Integer quantized(double number, int unit, double limit, bool& overflowed) {
  const double units = std::nearbyint(std::ldexp(number, -unit));
  if (std::abs(units) <= limit) return static_cast<Integer>(units);
  overflowed = true;
  return static_cast<Integer>(units < 0 ? -limit : limit);  // NaN is the positive one
}

template <bool add>
void combine(const FixedPoint& shape, std::span<const std::uint64_t> from,
             std::span<std::uint64_t> to) {
  assert(from.size() == shape.words() && to.size() == shape.words());
  for (std::size_t k = 0; k < shape.numbers; ++k)
    put_wide(add ? wide_at(to, k) + wide_at(from, k) : wide_at(to, k) - wide_at(from, k), to, k);
  for (std::size_t k = 2 * shape.numbers; k < to.size(); ++k)
    to[k] = add ? to[k] + from[k] : to[k] - from[k];
}

}  // namespace

std::vector<std::uint64_t> FixedPoint::encode(std::span<const double> given,
                                              std::span<const double> matrix) const {
  assert(given.size() == numbers && matrix.size() == elements);
  std::vector<std::uint64_t> words(this->words());
  const auto count = static_cast<double>(members);
  const double number_limit = std::floor(std::ldexp(1, number_bits) / count);
  const double element_limit = std::floor(std::ldexp(1, element_bits) / count);
  bool overflowed = false;
  for (std::size_t k = 0; k < numbers; ++k)
    put_wide(static_cast<UnsignedWide>(quantized<Wide>(given[k], unit_of(number_unit, coarseness),
                                                       number_limit, overflowed)),
             words, k);
  for (std::size_t k = 0; k < elements; ++k)
    words[2 * numbers + k] = static_cast<std::uint64_t>(quantized<std::int64_t>(
        matrix[k], unit_of(element_unit, coarseness), element_limit, overflowed));
  words.back() = overflowed ? overflow_count : 0;
  return words;
}

FixedPoint::Decoded FixedPoint::decode(std::span<const std::uint64_t> sum) const {
  assert(sum.size() == words());
  Decoded result;
  for (std::size_t k = 0; k < numbers; ++k)
    result.numbers.push_back(std::ldexp(static_cast<double>(static_cast<Wide>(wide_at(sum, k))),
                                        unit_of(number_unit, coarseness)));
  for (std::size_t k = 0; k < elements; ++k)
    result.matrix.push_back(
        std::ldexp(static_cast<double>(static_cast<std::int64_t>(sum[2 * numbers + k])),
                   unit_of(element_unit, coarseness)));
  result.overflowed = static_cast<std::uint32_t>(sum.back());
  result.refused = static_cast<std::uint32_t>(sum.back() >> 32);
  return result;
}

void add_words(const FixedPoint& shape, std::span<const std::uint64_t> from,
               std::span<std::uint64_t> to) {
  combine<true>(shape, from, to);
}

void subtract_words(const FixedPoint& shape, std::span<const std::uint64_t> from,
                    std::span<std::uint64_t> to) {
  combine<false>(shape, from, to);
}

}  // namespace grove
