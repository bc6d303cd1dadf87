#include "grove/record/forest_plot.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "grove/base/file.h"
#include "grove/base/printable.h"
#include "grove/base/text.h"
#include "grove/record/gnuplot_script.h"
#include "grove/record/plot.h"

namespace grove {
namespace {

using Group = std::vector<ForestEntry>;

std::vector<Group> groups_of(const ForestPlot& plot) {
  std::vector<Group> groups;
  for (const ForestEntry& entry : plot.entries) {
    if (groups.empty() || groups.back().front().coefficient != entry.coefficient)
      groups.emplace_back();
    groups.back().push_back(entry);
  }
  return groups;
}

std::string quoted(std::string text) {
  text = printable(text);
  std::ranges::replace(text, '"', '\'');
  std::ranges::replace(text, '\\', '/');
  return '"' + text + '"';
}

/// One coefficient: a panel with its own horizontal scale and a line at zero.
std::string panel(const Group& group, const std::string& network, std::size_t number) {
  std::string block = fmt::format("$f{} << EOD\n", number), ticks;
  double least = 0, most = 0;  // zero is in sight: it is what estimates are compared with
  const auto rows = static_cast<double>(group.size());
  for (std::size_t k = 0; k < group.size(); ++k) {
    const ForestEntry& entry = group[k];
    const double y = rows - static_cast<double>(k);
    const bool filled = entry.source == network;
    block += fmt::format("{} {} {} {} {}\n", exact(entry.estimate), exact(y), exact(entry.low),
                         exact(entry.high), filled ? 1 : 0);
    ticks += fmt::format("{}{} {}", ticks.empty() ? "" : ", ", quoted(entry.source), exact(y));
    least = std::min(least, entry.low);
    most = std::max(most, entry.high);
  }
  const double margin = 0.06 * (most - least);
  return block + "EOD\n" +
         fmt::format(
             "set title {} noenhanced offset 0,-0.6\nset ytics ({}) noenhanced\n"
             "set yrange [0.4:{}]\nset xrange [{}:{}]\n"
             "set arrow 1 from 0, graph 0 to 0, graph 1 nohead dt 2 lc rgb '#808080' back\n",
             quoted(group.front().coefficient), ticks, exact(rows + 0.6), exact(least - margin),
             exact(most + margin)) +
         fmt::format(
             "plot $f{0} using 1:2:3:4 with xerrorbars pt 6 ps 1.1 lw 2 lc rgb '#0072b2' "
             "notitle, $f{0} using ($5 == 1 ? $1 : NaN):2:3:4 with xerrorbars pt 7 ps 1.5 "
             "lw 3 lc rgb '#d55e00' notitle\n",
             number);
}

std::string script_of(const ForestPlot& plot, const std::string& format,
                      const std::string& output) {
  const std::vector<Group> groups = groups_of(plot);
  const std::size_t columns = groups.size() > 1 ? 2 : 1;
  const std::size_t lines = (groups.size() + columns - 1) / columns;
  const std::size_t most = std::ranges::max(groups, {}, &Group::size).size();
  const double height = 90 + static_cast<double>(lines) * (80 + 26 * static_cast<double>(most));
  std::string terminal = fmt::format("svg size 900,{:.0f} dynamic", height);
  if (format == "png") terminal = fmt::format("pngcairo size 1350,{:.0f}", 1.5 * height);
  if (format == "pdf") terminal = fmt::format("pdfcairo size 9in,{:.2f}in", height / 100);
  std::string script = fmt::format(
      "set encoding utf8\nset terminal {} enhanced font 'Helvetica,{}' background '#ffffff'\n"
      "set output '{}'\nset multiplot layout {},{} title {} noenhanced\n"
      "set grid x lt 1 lw 1 lc rgb '#e0e0e0'\nset border 1\nset tics nomirror\nset xtics auto\n",
      terminal, format == "png" ? 17 : 13, output, lines, columns, quoted(plot.title));
  script += "set xtics format '%.3g'\nset xtics rotate by 0 autofreq\n";
  for (std::size_t k = 0; k < groups.size(); ++k) script += panel(groups[k], plot.network, k);
  return script + "unset multiplot\nset output\n";
}

std::string csv_of_forest(const ForestPlot& plot) {
  std::string text = "coefficient,source,estimate,low,high\n";
  for (const ForestEntry& entry : plot.entries)
    text += fmt::format("{},{},{},{},{}\n", csv_field(entry.coefficient), csv_field(entry.source),
                        exact(entry.estimate), exact(entry.low), exact(entry.high));
  return text;
}

}  // namespace

Status draw(const ForestPlot& plot, const std::filesystem::path& path) {
  if (plot.entries.empty()) return Error{path.string(), "there is nothing to draw"};
  if (path.extension() == ".csv") return write_file_atomically(path, csv_of_forest(plot));
  return draw_script([&](const std::string& format,
                         const std::string& output) { return script_of(plot, format, output); },
                     path);
}

}  // namespace grove
