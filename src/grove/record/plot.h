#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "grove/base/result.h"

namespace grove {

/// One line of a figure, with an optional band around it.
struct Curve {
  std::string name;
  std::vector<double> x, y;
  std::vector<double> low, high;  ///< empty, or as long as x
};

struct Figure {
  std::string title, x_label, y_label;
  bool log_x = false;
  bool log_y = true;
  bool points = false;     ///< mark the data points: for few of them
  bool from_zero = false;  ///< the y axis begins at 0
  std::vector<Curve> curves;
};

/// Whether gnuplot is there: to be asked before long work whose end is a picture.
Status can_draw();

/// Draws with gnuplot, as SVG or PNG by the ending of `path`; the file appears whole or not at all.
/// Values that a logarithmic axis cannot show are left out.
Status draw(const Figure& figure, const std::filesystem::path& path);

}  // namespace grove
