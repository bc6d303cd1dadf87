#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace grove {

/// Reads the number at the start of [at, end), with an optional sign. Returns where it ends, or
/// null where there is none or it is too large for a double (too small is 0); infinities and NaN
/// are returned as such. Correctly rounded.
inline const char* read_number(const char* at, const char* end, double& value);

/// The same for every number, by the standard library: several times slower.
const char* read_any_number(const char* at, const char* end, double& value);

/// Appends the decimal digits at the start of [at, end) to `number` and returns where they end.
/// Twenty digits or more may overflow. (Eight at a time without branches is slower on data files:
/// guessing where a number ends lets the processor begin with the next.)
inline const char* read_digits(const char* at, const char* end, std::uint64_t& number) {
  for (; at != end; ++at) {
    const auto digit = static_cast<unsigned char>(*at - '0');
    if (digit > 9) break;
    number = 10 * number + digit;
  }
  return at;
}

/// Adds the exponent that begins at the letter `at` to `power`. Returns where it ends, or null
/// where it is not one to three digits with an optional sign.
inline const char* read_exponent(const char* at, const char* end, std::ptrdiff_t& power) {
  ++at;
  const bool negative = at != end && *at == '-';
  if (negative || (at != end && *at == '+')) ++at;
  std::uint64_t exponent = 0;
  const char* const stop = read_digits(at, end, exponent);
  if (stop == at || stop - at > 3) return nullptr;
  power +=
      negative ? -static_cast<std::ptrdiff_t>(exponent) : static_cast<std::ptrdiff_t>(exponent);
  return stop;
}

// An integer up to 2^53 and a power of ten up to 10^22 are doubles without error, so one
// multiplication or division of the two rounds once, correctly (Clinger, "How to read floating
// point numbers accurately", 1990). Nearly all numbers in data files are such.
inline const char* read_number(const char* at, const char* end, double& value) {
  static constexpr std::array<double, 23> powers{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  constexpr std::ptrdiff_t largest_power = powers.size() - 1;
  constexpr std::uint64_t largest_integer = std::uint64_t{1} << 53;
  constexpr std::ptrdiff_t most_digits = 19;
  const bool negative = at != end && *at == '-';
  const char* const first = at + (negative || (at != end && *at == '+'));
  std::uint64_t digits = 0;
  const char* next = read_digits(first, end, digits);
  std::ptrdiff_t count = next - first;
  std::ptrdiff_t power = 0;
  if (next != end && *next == '.') {
    const char* const fraction = next + 1;
    next = read_digits(fraction, end, digits);
    power = fraction - next;
    count -= power;
  }
  if (count == 0 || count > most_digits || digits > largest_integer)
    return read_any_number(at, end, value);
  if (next != end && (*next == 'e' || *next == 'E')) next = read_exponent(next, end, power);
  if (next == nullptr || power > largest_power || power < -largest_power)
    return read_any_number(at, end, value);
  const auto integer = static_cast<double>(digits);
  const double magnitude = power < 0 ? integer / powers[static_cast<std::size_t>(-power)]
                                     : integer * powers[static_cast<std::size_t>(power)];
  // Set, not chosen by a branch: signs cannot be guessed.
  value = std::bit_cast<double>(std::bit_cast<std::uint64_t>(magnitude) | std::uint64_t{negative}
                                                                              << 63);
  return next;
}

}  // namespace grove
