#include "grove/record/plot.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "grove/base/file.h"
#include "grove/base/text.h"

namespace grove {
namespace {

// Okabe and Ito's palette, told apart with every common kind of colour vision; a grey stands in for
// its yellow, which is too pale for a line on white.
constexpr std::array colours = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                "#E69F00", "#56B4E9", "#000000", "#8C8C8C"};
// Only the first is solid: a line that lies on another leaves gaps through which that one shows.
constexpr std::array dashes = {"1",      "(9,4)", "(14,3,3,3)",    "(4,4)",
                               "(20,5)", "(2,3)", "(9,3,2,3,2,3)", "(14,8)"};
static_assert(dashes.size() == colours.size());

/// Inside gnuplot's single quotes a quote is doubled; other characters stand for themselves.
std::string gnuplot_text(std::string_view text) {
  std::string result = "'";
  for (char c : text) {
    if (c == '\'') result += '\'';
    result += c == '\n' ? ' ' : c;
  }
  return result + "'";
}

bool shown(double value, bool log_axis) { return std::isfinite(value) && (!log_axis || value > 0); }

std::string data_block(std::size_t number, const Curve& curve, const Figure& figure) {
  std::string block = fmt::format("$c{} << EOD\n", number);
  for (std::size_t k = 0; k < curve.x.size(); ++k) {
    const double low = curve.low.empty() ? curve.y[k] : curve.low[k];
    const double high = curve.high.empty() ? curve.y[k] : curve.high[k];
    if (shown(curve.x[k], figure.log_x) && shown(curve.y[k], figure.log_y) &&
        shown(low, figure.log_y) && shown(high, figure.log_y))
      block += fmt::format("{} {} {} {}\n", exact(curve.x[k]), exact(curve.y[k]), exact(low),
                           exact(high));
    else
      block += "\n";  // a gap, not a bridge
  }
  return block + "EOD\n";
}

/// Few points were measured there and nowhere else: ticks say where, away from the frame.
std::string measured_ticks(const Figure& figure) {
  std::set<double> at;
  for (const Curve& curve : figure.curves) at.insert(curve.x.begin(), curve.x.end());
  std::string ticks;
  for (const double x : at) ticks += fmt::format("{}{:.6g}", ticks.empty() ? "" : ", ", x);
  return fmt::format("set xtics ({})\nset offsets graph 0.05, graph 0.05, 0, 0\n", ticks);
}

std::string script_of(const Figure& figure, bool svg, const std::string& output) {
  std::string script =
      svg ? "set terminal svg size 860,540 dynamic enhanced font 'Helvetica,14' background "
            "'#ffffff'\n"
          : "set terminal pngcairo size 1290,810 enhanced font 'Helvetica,17' background "
            "'#ffffff'\n";
  script += fmt::format("set output {}\n", gnuplot_text(output));
  // An empty line below the label keeps the legend away from it.
  script += fmt::format(
      "set title {} noenhanced\nset xlabel {}.\"\\n\" noenhanced offset 0,0.4\n"
      "set ylabel {} noenhanced\n",
      gnuplot_text(figure.title), gnuplot_text(figure.x_label), gnuplot_text(figure.y_label));
  if (figure.log_x) script += "set logscale x\nset format x '10^{%L}'\n";
  if (figure.log_y) script += "set logscale y\nset format y '10^{%L}'\n";
  if (figure.points) script += measured_ticks(figure);
  if (figure.from_zero) script += "set yrange [0:*]\n";
  script +=
      "set grid lt 1 lw 1 lc rgb '#d8d8d8'\nset border 3\nset tics nomirror\n"
      "set key below Left reverse noenhanced samplen 3 spacing 1.2\n";
  std::string plots;
  const std::size_t count = figure.curves.size();
  for (std::size_t k = 0; k < count; ++k) {
    const Curve& curve = figure.curves[k];
    const auto colour = colours[k % colours.size()];
    script += data_block(k, curve, figure);
    if (!curve.low.empty())
      plots += fmt::format(
          "{}$c{} using 1:3:4 with filledcurves fc rgb '{}' fs transparent solid "
          "0.15 noborder notitle",
          plots.empty() ? "" : ", ", k, colour);
    // Later lines are thinner, so that one that lies on another does not hide it.
    const double width = 3.5 - 2 * static_cast<double>(k) / static_cast<double>(count);
    // gnuplot leaves a block without points out of the legend; a curve that is NaN it names.
    const std::string source = curve.x.empty() ? "NaN" : fmt::format("$c{} using 1:2", k);
    plots += fmt::format(
        "{}{} with {} lw {:.2f} dt {} lc rgb '{}'{} title {}", plots.empty() ? "" : ", ", source,
        figure.points ? "linespoints" : "lines", width, dashes[k % dashes.size()], colour,
        figure.points ? fmt::format(" pt {}", 5 + k) : "", gnuplot_text(curve.name));
  }
  return script + "plot " + plots + "\nset output\n";
}

bool anything_to_show(const Figure& figure) {
  for (const Curve& curve : figure.curves)
    for (double y : curve.y)
      if (shown(y, figure.log_y)) return true;
  return false;
}

}  // namespace

Status can_draw() {
  const int status = std::system("gnuplot --version >/dev/null 2>&1");
  if (status == 0) return success();
  return Error{"gnuplot", "is not installed, and pictures are drawn with it"};
}

Status draw(const Figure& figure, const std::filesystem::path& path) {
  const auto ending = path.extension();
  if (ending != ".svg" && ending != ".png")
    return Error{path.string(),
                 "cannot draw that kind of file; expected a name ending in .svg or .png"};
  if (!anything_to_show(figure)) return Error{path.string(), "there is nothing to draw"};
  // gnuplot draws into a file of ours; the picture itself is written in one step, as all files are.
  std::string temporary = (std::filesystem::temp_directory_path() / "grove-XXXXXX").string();
  const int file = ::mkstemp(temporary.data());
  if (file < 0) return Error{temporary, "cannot make a temporary file to draw in"};
  ::close(file);
  FILE* gnuplot = ::popen("gnuplot >/dev/null 2>&1", "w");
  std::error_code error;
  if (gnuplot == nullptr) {
    std::filesystem::remove(temporary, error);
    return Error{path.string(), "cannot start gnuplot"};
  }
  const std::string script = script_of(figure, ending == ".svg", temporary);
  const bool written = std::fwrite(script.data(), 1, script.size(), gnuplot) == script.size();
  const int status = ::pclose(gnuplot);
  if (!written || status != 0 || std::filesystem::file_size(temporary, error) == 0) {
    std::filesystem::remove(temporary, error);
    return Error{path.string(), WIFEXITED(status) && WEXITSTATUS(status) == 127
                                    ? "cannot draw: gnuplot is not installed"
                                    : "cannot draw: gnuplot failed"};
  }
  const auto picture = read_file(temporary);
  std::filesystem::remove(temporary, error);
  if (!picture) return picture.error();
  return write_file_atomically(path, *picture);
}

}  // namespace grove
