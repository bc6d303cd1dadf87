#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "grove/base/result.h"

namespace grove {

/// A point for runs that diverged or did not reach the goal: an open marker with a text beside it.
struct OpenMark {
  double x = 0, y = 0;
  std::string text;
};

/// One line of a figure, with an optional band around it.
struct Curve {
  std::string name;
  std::vector<double> x, y;
  std::vector<double> low, high;  ///< empty, or as long as x
  std::vector<OpenMark> marks;
};

struct Figure {
  std::string title, x_label, y_label;
  double x_divisor = 1;  ///< x is drawn in units of this; the labels name the unit
  bool log_x = false;
  bool log_y = true;
  bool points = false;       ///< mark the data points: for few of them
  bool from_zero = false;    ///< the y axis begins at 0
  std::string mark_meaning;  ///< of the open markers, for the legend
  std::vector<Curve> curves;
};

/// Whether the tool that writes `path` is installed (gnuplot; CSV needs none), and whether the
/// ending is a known one: to be asked before long work whose end is a picture.
Status can_draw(const std::filesystem::path& path);

/// Draws as SVG, PNG or PDF by the ending of `path`, or writes the curves as CSV. The file appears
/// whole or not at all. Values that a logarithmic axis cannot show are left out.
Status draw(const Figure& figure, const std::filesystem::path& path);

/// Makes the gnuplot commands for a format (svg, png, pdf) and a file to draw into.
using PlotScript = std::function<std::string(const std::string& format, const std::string& output)>;

/// Draws a script of one's own as SVG, PNG or PDF by the ending of `path`, in one step.
Status draw_script(const PlotScript& script, const std::filesystem::path& path);

/// The curves in long form: curve, x, median, lower_quartile, upper_quartile, mark. A curve without
/// a band has its value three times; an open marker has a row with its text.
std::string csv_of(const Figure& figure);

/// A field of a CSV file: in quotes where its text would end the field.
std::string csv_field(std::string_view text);

}  // namespace grove
