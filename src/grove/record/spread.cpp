#include "grove/record/spread.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace grove {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// An infinite neighbour makes the interpolation infinite.
double quantile(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const double rest = position - static_cast<double>(below);
  if (rest == 0) return sorted[below];
  if (std::isinf(sorted[below + 1])) return infinite;
  return sorted[below] + rest * (sorted[below + 1] - sorted[below]);
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  assert(!values.empty());
  for (double& value : values)
    if (std::isnan(value)) value = infinite;
  std::ranges::sort(values);
  return {quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)};
}

}  // namespace grove
