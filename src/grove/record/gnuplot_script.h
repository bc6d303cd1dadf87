#pragma once

#include <string>
#include <vector>

#include "grove/record/plot.h"

namespace grove {

/// The commands with which gnuplot draws `figure` into the file `output`, as "svg", "png" or "pdf".
std::string gnuplot_script(const Figure& figure, const std::string& format,
                           const std::string& output);

/// Whether an axis can show the value: finite, and above 0 on a logarithmic axis.
bool can_show(double value, bool log_axis);

/// Labelled positions of a logarithmic axis from `low` to `high`, both above 0: powers of ten, at
/// most nine of them. Over less than two decades also 2 and 5 times a power, over less than one
/// decade all digits times a power.
std::vector<double> log_ticks(double low, double high);

}  // namespace grove
