#include "grove/sums/exact_numbers.h"

#include <cmath>

namespace grove {
namespace {

constexpr std::size_t pieces = 4;
static_assert(ExactNumbers::bytes_per_number == pieces * 2 * sizeof(std::uint64_t));
constexpr int piece_bits = 96, lowest_bit = -192, highest_bit = 192;
/// The exponent by which a piece is divided: it has 32 bits before the point, and 64 after it.
constexpr int unit_of(std::size_t piece) {
  return lowest_bit + piece_bits * static_cast<int>(piece) + 64;
}

}  // namespace

ExactNumbers::ExactNumbers(std::size_t numbers, std::size_t members)
    : shape_{.numbers = pieces * numbers, .elements = 0, .members = members} {}

std::optional<std::vector<std::uint64_t>> ExactNumbers::encode(
    std::span<const double> numbers) const {
  std::vector<double> cut;
  cut.reserve(shape_.numbers);
  for (double number : numbers) {
    if (!(std::abs(number) < std::ldexp(1, highest_bit))) return std::nullopt;
    double parts[pieces];
    for (std::size_t piece = pieces; piece-- > 0;) {
      const int low = lowest_bit + piece_bits * static_cast<int>(piece);
      const double part = std::ldexp(std::trunc(std::ldexp(number, -low)), low);
      parts[piece] = std::ldexp(part, -unit_of(piece));
      number -= part;  // exact: both are multiples of the last bit of `number`
    }
    cut.insert(cut.end(), parts, parts + pieces);
  }
  std::vector<std::uint64_t> words = shape_.encode(cut, {});
  if (words.back() != 0) return std::nullopt;
  return words;
}

std::vector<double> ExactNumbers::decode(std::span<const std::uint64_t> sum) const {
  const std::vector<double> cut = shape_.decode(sum).numbers;
  std::vector<double> numbers(cut.size() / pieces);
  for (std::size_t k = 0; k < numbers.size(); ++k)
    for (std::size_t piece = 0; piece < pieces; ++piece)
      numbers[k] += std::ldexp(cut[pieces * k + piece], unit_of(piece));
  return numbers;
}

}  // namespace grove
