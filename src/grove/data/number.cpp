#include "grove/data/number.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace grove {
namespace {

/// The zero that a number out of range is rounded to; null if it is too large rather than too
/// small, for which std::from_chars reports only that it is one of the two.
std::optional<double> rounded_to_zero(std::string_view number) {
  const double value = std::strtod(std::string(number).c_str(), nullptr);
  return std::abs(value) < 1 ? std::optional(value) : std::nullopt;
}

}  // namespace

const char* read_any_number(const char* at, const char* end, double& value) {
  if (at != end && *at == '+') {
    ++at;
    if (at != end && *at == '-') return nullptr;
  }
  const auto [stop, error] = std::from_chars(at, end, value);
  if (error == std::errc{}) return stop;
  if (error != std::errc::result_out_of_range) return nullptr;
  const auto zero = rounded_to_zero({at, stop});
  if (!zero) return nullptr;
  value = *zero;
  return stop;
}

}  // namespace grove
