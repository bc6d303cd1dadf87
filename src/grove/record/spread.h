#pragma once

#include <vector>

namespace grove {

/// Quartiles over seeds. A value that was never reached counts as infinite, so that the median is
/// infinite when half of the seeds did not get there.
struct Spread {
  double low = 0, median = 0, high = 0;
};

/// Lower quartile, median and upper quartile, by linear interpolation between order statistics.
/// NaN counts as infinite. `values` must not be empty.
Spread spread_of(std::vector<double> values);

}  // namespace grove
