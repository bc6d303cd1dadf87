#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "grove/base/result.h"

namespace grove {

/// An estimate with its interval, of one coefficient by one site or by the network.
struct ForestEntry {
  std::string coefficient;
  std::string source;  ///< site, or "network"
  double estimate = 0;
  double low = 0, high = 0;
};

/// A forest plot: a group of rows for every coefficient, the network's estimate last and filled.
struct ForestPlot {
  std::string title;
  std::string network = "network";   ///< the source that is drawn filled
  std::vector<ForestEntry> entries;  ///< by coefficient
};

/// As SVG, PNG or PDF by the ending of `path`, or as CSV. Every coefficient has a scale of its own:
/// they have different units.
Status draw(const ForestPlot& plot, const std::filesystem::path& path);

}  // namespace grove
