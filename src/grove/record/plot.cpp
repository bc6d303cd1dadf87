#include "grove/record/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "grove/base/file.h"
#include "grove/base/text.h"
#include "grove/record/gnuplot_script.h"

namespace grove {
namespace {

constexpr std::array picture_endings = {".svg", ".png", ".pdf"};

bool is_picture(const std::filesystem::path& path) {
  return std::ranges::find(picture_endings, path.extension()) != picture_endings.end();
}

Status check_ending(const std::filesystem::path& path) {
  if (is_picture(path) || path.extension() == ".csv") return success();
  return Error{path.string(),
               "cannot draw that kind of file; expected a name ending in .svg, .png, .pdf or .csv"};
}

bool anything_to_show(const Figure& figure) {
  return std::ranges::any_of(figure.curves, [&](const Curve& curve) {
    return !curve.marks.empty() ||
           std::ranges::any_of(curve.y, [&](double y) { return can_show(y, figure.log_y); });
  });
}

/// Runs gnuplot on the script; the exit status as wait() gives it, or -1.
int run_gnuplot(const std::string& script) {
  FILE* gnuplot = ::popen("gnuplot >/dev/null 2>&1", "w");
  if (gnuplot == nullptr) return -1;
  const bool written = std::fwrite(script.data(), 1, script.size(), gnuplot) == script.size();
  const int status = ::pclose(gnuplot);
  return written ? status : -1;
}

}  // namespace

Status can_draw(const std::filesystem::path& path) {
  if (Status status = check_ending(path); !status || !is_picture(path)) return status;
  if (std::system("gnuplot --version >/dev/null 2>&1") == 0) return success();
  return Error{"gnuplot", "is not installed, and pictures are drawn with it; .csv needs none"};
}

/// gnuplot draws into a temporary file; the picture itself is written in one step, as all files
/// are.
Status draw_script(const PlotScript& script, const std::filesystem::path& path) {
  if (!is_picture(path)) return check_ending(path);
  std::string temporary = (std::filesystem::temp_directory_path() / "grove-XXXXXX").string();
  const int file = ::mkstemp(temporary.data());
  if (file < 0) return Error{temporary, "cannot make a temporary file to draw in"};
  ::close(file);
  const int status = run_gnuplot(script(path.extension().string().substr(1), temporary));
  const auto picture = read_file(temporary);
  std::error_code ignored;
  std::filesystem::remove(temporary, ignored);
  if (status != 0 || !picture || picture->empty())
    return Error{path.string(), WIFEXITED(status) && WEXITSTATUS(status) == 127
                                    ? "cannot draw: gnuplot is not installed"
                                    : "cannot draw: gnuplot failed"};
  return write_file_atomically(path, *picture);
}

Status draw(const Figure& figure, const std::filesystem::path& path) {
  if (Status status = check_ending(path); !status) return status;
  if (!anything_to_show(figure)) return Error{path.string(), "there is nothing to draw"};
  if (!is_picture(path)) return write_file_atomically(path, csv_of(figure));
  return draw_script(
      [&](const std::string& format, const std::string& output) {
        return gnuplot_script(figure, format, output);
      },
      path);
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string field = "\"";
  for (const char c : text) {
    if (c == '"') field += '"';
    field += c;
  }
  return field + "\"";
}

std::string csv_of(const Figure& figure) {
  std::string text = "curve,x,median,lower_quartile,upper_quartile,mark\n";
  for (const Curve& curve : figure.curves) {
    const std::string name = csv_field(curve.name);
    for (std::size_t k = 0; k < curve.x.size(); ++k)
      if (std::isfinite(curve.y[k]))
        text += fmt::format("{},{},{},{},{},\n", name, exact(curve.x[k]), exact(curve.y[k]),
                            exact(curve.low.empty() ? curve.y[k] : curve.low[k]),
                            exact(curve.high.empty() ? curve.y[k] : curve.high[k]));
    for (const OpenMark& mark : curve.marks)
      text +=
          fmt::format("{},{},{},,,{}\n", name, exact(mark.x), exact(mark.y), csv_field(mark.text));
  }
  return text;
}

}  // namespace grove
