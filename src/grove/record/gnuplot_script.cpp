#include "grove/record/gnuplot_script.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "grove/base/printable.h"
#include "grove/base/text.h"

namespace grove {
namespace {

// Okabe and Ito's palette, which people with any common kind of colour vision can distinguish. A
// grey replaces its yellow, which is too pale for a line on white.
constexpr std::array colours = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                "#E69F00", "#56B4E9", "#000000", "#8C8C8C"};
// Only the first is solid: a line that lies on another leaves gaps through which that one shows.
constexpr std::array dashes = {"1",      "(9,4)", "(14,3,3,3)",    "(4,4)",
                               "(20,5)", "(2,3)", "(9,3,2,3,2,3)", "(14,8)"};
// gnuplot's numbers of filled symbols and of the open symbols of the same shapes.
constexpr std::array filled_symbols = {7, 5, 9, 11, 13, 15};
constexpr std::array open_symbols = {6, 4, 8, 10, 12, 14};
static_assert(dashes.size() == colours.size());
static_assert(open_symbols.size() == filled_symbols.size());

template <class Array>
auto of_series(const Array& choices, std::size_t series) {
  return choices[series % choices.size()];
}

/// Inside gnuplot's single quotes a quote is doubled; other characters stand for themselves.
std::string single_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') result += '\'';
    result += c;
  }
  return result + "'";
}

std::string gnuplot_text(std::string_view text) { return single_quoted(printable(text)); }

/// The part of an axis that the data takes.
struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value, bool log_axis) {
    if (!can_show(value, log_axis)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return !(low <= high); }
  /// Where the value lies, from 0 to 1.
  double position(double value, bool log_axis) const {
    if (!(low < high)) return 0;
    return log_axis ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  }
};

Extent x_extent(const Figure& figure) {
  Extent extent;
  for (const Curve& curve : figure.curves) {
    for (const double x : curve.x) extent.add(x / figure.x_divisor, figure.log_x);
    for (const OpenMark& mark : curve.marks) extent.add(mark.x / figure.x_divisor, figure.log_x);
  }
  return extent;
}

Extent y_extent(const Figure& figure) {
  Extent extent;
  for (const Curve& curve : figure.curves) {
    for (const auto* values : {&curve.y, &curve.low, &curve.high})
      for (const double y : *values) extent.add(y, figure.log_y);
    for (const OpenMark& mark : curve.marks) extent.add(mark.y, figure.log_y);
  }
  return extent;
}

std::string data_block(std::size_t number, const Curve& curve, const Figure& figure) {
  std::string block = fmt::format("$c{} << EOD\n", number);
  for (std::size_t k = 0; k < curve.x.size(); ++k) {
    const double low = curve.low.empty() ? curve.y[k] : curve.low[k];
    const double high = curve.high.empty() ? curve.y[k] : curve.high[k];
    if (can_show(curve.x[k], figure.log_x) && can_show(curve.y[k], figure.log_y) &&
        can_show(low, figure.log_y) && can_show(high, figure.log_y))
      block += fmt::format("{} {} {} {}\n", exact(curve.x[k] / figure.x_divisor), exact(curve.y[k]),
                           exact(low), exact(high));
    else
      block += "\n";  // a gap, not a bridge
  }
  return block + "EOD\n";
}

std::string tick_label(double value) {
  const double exponent = std::floor(std::log10(value) + 1e-9);
  const double digit = std::round(value / std::pow(10, exponent));
  return digit == 1 ? fmt::format("'10^{{{:.0f}}}' {}", exponent, exact(value))
                    : fmt::format("'{:.0f}·10^{{{:.0f}}}' {}", digit, exponent, exact(value));
}

std::string log_axis(char axis, const Extent& extent) {
  if (extent.empty()) return fmt::format("set logscale {}\n", axis);
  std::string ticks;
  for (const double tick : log_ticks(extent.low, extent.high))
    ticks += (ticks.empty() ? "" : ", ") + tick_label(tick);
  return fmt::format("set logscale {0}\nset {0}tics ({1})\n", axis, ticks);
}

/// Few points were measured, and only there: the ticks name these positions, away from the frame.
std::string measured_ticks(const Figure& figure) {
  std::set<double> at;
  for (const Curve& curve : figure.curves) {
    at.insert(curve.x.begin(), curve.x.end());
    for (const OpenMark& mark : curve.marks) at.insert(mark.x);
  }
  std::string ticks;
  for (const double x : at)
    ticks += fmt::format("{}{:.6g}", ticks.empty() ? "" : ", ", x / figure.x_divisor);
  return fmt::format("set xtics ({})\nset offsets graph 0.05, graph 0.05, graph 0.05, 0\n", ticks);
}

std::string terminal(const std::string& format) {
  if (format == "svg")
    return "set terminal svg size 860,540 dynamic enhanced font 'Helvetica,14' background "
           "'#ffffff'\n";
  if (format == "pdf")
    return "set terminal pdfcairo size 8.6in,5.4in enhanced font 'Helvetica,14' background "
           "'#ffffff'\n";
  return "set terminal pngcairo size 1290,810 enhanced font 'Helvetica,17' background '#ffffff'\n";
}

/// The commands before `plot`.
std::string settings_of(const Figure& figure) {
  // An empty line below the label keeps the legend away from it.
  std::string script = fmt::format(
      "set title {} noenhanced\nset xlabel {}.\"\\n\" noenhanced offset 0,0.4\n"
      "set ylabel {} noenhanced\n",
      gnuplot_text(figure.title), gnuplot_text(figure.x_label), gnuplot_text(figure.y_label));
  if (figure.log_x) script += log_axis('x', x_extent(figure));
  if (figure.log_y) script += log_axis('y', y_extent(figure));
  if (figure.points) script += measured_ticks(figure);
  if (figure.from_zero) script += "set yrange [0:*]\n";
  return script +
         "set grid lt 1 lw 1 lc rgb '#d8d8d8'\nset border 3\nset tics nomirror\n"
         "set key below Left reverse noenhanced samplen 3 spacing 1.2 width 2\n";
}

/// The parts of the `plot` command, and the data blocks that they use.
class Series {
 public:
  explicit Series(const Figure& figure) : figure_(figure), extent_(x_extent(figure)) {
    for (std::size_t k = 0; k < figure.curves.size(); ++k) {
      add_curve(k);
      for (const OpenMark& mark : figure.curves[k].marks) add_mark(k, mark);
    }
    if (marks_ > 0 && !figure.mark_meaning.empty())
      add(fmt::format("NaN with points pt 6 ps 1.6 lw 2 lc rgb '#404040' title {}",
                      gnuplot_text(figure.mark_meaning)));
  }

  std::string script() const { return blocks_ + "plot " + parts_ + "\nset output\n"; }

 private:
  void add(const std::string& part) { parts_ += (parts_.empty() ? "" : ", ") + part; }

  void add_curve(std::size_t k) {
    const Curve& curve = figure_.curves[k];
    const std::string colour = of_series(colours, k);
    blocks_ += data_block(k, curve, figure_);
    const bool shows =
        std::ranges::any_of(curve.y, [&](double y) { return can_show(y, figure_.log_y); });
    if (!curve.low.empty())
      add(
          fmt::format("$c{} using 1:3:4 with filledcurves fc rgb '{}' fs transparent solid 0.15 "
                      "noborder notitle",
                      k, colour));
    // Later lines are thinner, so that one that lies on another does not hide it.
    const double width =
        3.5 - 2 * static_cast<double>(k) / static_cast<double>(figure_.curves.size());
    // gnuplot leaves a block without points out of the legend; a curve that is NaN it names.
    const std::string source = shows ? fmt::format("$c{} using 1:2", k) : "NaN";
    const std::string symbols =
        figure_.points ? fmt::format(" pt {} ps 1.2", of_series(filled_symbols, k)) : "";
    add(fmt::format("{} with {} lw {:.2f} dt {} lc rgb '{}'{} title {}", source,
                    figure_.points ? "linespoints" : "lines", width, of_series(dashes, k), colour,
                    symbols, gnuplot_text(curve.name)));
  }

  /// Marks at one place are drawn around each other, their texts above and below in turn.
  void add_mark(std::size_t k, const OpenMark& mark) {
    const double x = mark.x / figure_.x_divisor;
    if (!can_show(x, figure_.log_x) || !can_show(mark.y, figure_.log_y)) return;
    const int earlier = at_place_[{x, mark.y}]++;
    const std::string name = fmt::format("$m{}", marks_++);
    const std::string colour = of_series(colours, k);
    std::string text = printable(mark.text);
    std::ranges::replace(text, '"', '\'');
    blocks_ += fmt::format("{} << EOD\n{} {} \"{}\"\nEOD\n", name, exact(x), exact(mark.y), text);
    add(fmt::format("{} using 1:2 with points pt {} ps {:.1f} lw 2 lc rgb '{}' notitle", name,
                    of_series(open_symbols, k), 1.6 + 0.9 * earlier, colour));
    const bool right = extent_.position(x, figure_.log_x) > 0.75;  // the text must not be cut off
    const auto pairs = earlier / 2;  // texts stand alternately above and below
    const double away = 1.3 + 1.1 * static_cast<double>(pairs);  // lines of text
    add(
        fmt::format("{} using 1:2:3 with labels noenhanced {} offset char {},{:.1f} tc rgb '{}' "
                    "notitle",
                    name, right ? "right" : "left", right ? 0.5 : -0.5,
                    earlier % 2 == 0 ? away : -away, colour));
  }

  const Figure& figure_;
  Extent extent_;
  std::string blocks_, parts_;
  std::size_t marks_ = 0;
  std::map<std::pair<double, double>, int> at_place_;
};

}  // namespace

bool can_show(double value, bool log_axis) {
  return std::isfinite(value) && (!log_axis || value > 0);
}

std::vector<double> log_ticks(double low, double high) {
  constexpr double most_ticks = 9;
  const double first = std::floor(std::log10(low)), last = std::ceil(std::log10(high));
  const double decades = std::log10(high / low);
  const double step = std::max(1.0, std::ceil((last - first + 1) / most_ticks));
  std::vector<int> digits = {1};
  if (decades < 2) digits = {1, 2, 5};
  if (decades < 1) digits = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<double> ticks;
  for (double exponent = step * std::floor(first / step); exponent <= last; exponent += step)
    for (const int digit : digits)  // by text, as pow(10, -3) may differ from 1e-3 in its last bit
      ticks.push_back(*parse_double(fmt::format("{}e{:.0f}", digit, exponent)));
  return ticks;
}

std::string gnuplot_script(const Figure& figure, const std::string& format,
                           const std::string& output) {
  return "set encoding utf8\n" + terminal(format) +
         fmt::format("set output {}\n", single_quoted(output)) + settings_of(figure) +
         Series(figure).script();
}

}  // namespace grove
