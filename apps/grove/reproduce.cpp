#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <memory>

#include <unistd.h>

#include "command.h"
#include "experiments/reproduce.h"
#include "grove/record/summary.h"
#include "terminal.h"

namespace grove::app {
namespace {

struct ReproduceSettings {
  std::string figure = "all";
  std::string data;
  std::string out = "grove-reproduce";
  std::uint64_t seeds = 0;
  bool quick = false;
  bool quiet = false;
};

/// A run stays on one thread: its processor time is its wall time on an idle machine.
double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm date{};
  ::gmtime_r(&now, &date);
  return fmt::format("{}-{:02}-{:02}", 1900 + date.tm_year, 1 + date.tm_mon, date.tm_mday);
}

/// "reproduce: run 137 of 1200, about 3 min 05 s left", rewritten in place on a terminal.
class JobLine {
 public:
  explicit JobLine(bool quiet)
      : visible_(!quiet && ::isatty(STDERR_FILENO)), began_(monotonic_seconds()) {}
  ~JobLine() {
    if (visible_) fmt::print(stderr, "\r\033[K");
  }

  void show(const experiments::Progress& progress) const {
    if (!visible_) return;
    const double left = (monotonic_seconds() - began_) / progress.effort_run *
                        std::max(0.0, progress.effort - progress.effort_done);
    fmt::print(stderr, "\r\033[Kreproduce: run {} of {}{}", progress.trials_done, progress.trials,
               std::isfinite(left) ? ", about " + human_seconds(left) + " left" : "");
    std::fflush(stderr);
  }

 private:
  bool visible_;
  double began_;
};

experiments::Scale scale_of(const ReproduceSettings& settings) {
  experiments::Scale scale;
  if (settings.quick) scale = experiments::quick_scale();
  if (!settings.data.empty()) scale.data = settings.data;
  if (settings.seeds > 0) scale.seeds = settings.seeds;
  return scale;
}

Result<std::optional<experiments::Findings>> run_job(const ReproduceSettings& settings) {
  experiments::ReproduceOptions options;
  options.scale = scale_of(settings);
  options.out = settings.out;
  options.date = today();
  if (settings.figure == "work")
    options.figures = {experiments::work_figure};
  else if (settings.figure != "all")
    options.figures = {settings.figure[0] - '0'};
  JobLine line(settings.quiet);  // gone before anything else is printed
  options.hooks = {.seconds = thread_seconds,
                   .progress = [&line](const experiments::Progress& now) { line.show(now); },
                   .interrupted = interrupted};
  return experiments::reproduce(options);
}

int reproduce(const ReproduceSettings& settings) {
  watch_for_interrupts();
  const auto findings = run_job(settings);
  if (!findings) return fail(findings.error());
  if (!*findings) {
    fmt::print(stderr, "grove: interrupted; the same command continues from the finished runs\n");
    return ended_by_user;
  }
  if (!settings.quiet)
    fmt::print("Wrote report.html, report.md, figures (SVG, PNG, CSV) and run records to {}.\n",
               settings.out);
  return ok;
}

Option figure_option(std::string& target) {
  return choice_option<std::string>(
      {"figure", "", "a figure of the paper, or local steps on unequal machines (all)", "Job"},
      target, {{"1", "1"}, {"2", "2"}, {"3", "3"}, {"work", "work"}, {"all", "all"}});
}

}  // namespace

Command reproduce_command() {
  auto settings = std::make_shared<ReproduceSettings>();
  return {
      .name = "reproduce",
      .summary = reproduce_summary,
      .positionals = {},
      .options =
          {figure_option(settings->figure),
           text_option({"data", "FILE", "ijcnn1 (a built-in set like it)", "Job"}, settings->data),
           text_option({"out", "DIR",
                        "folder for the results (grove-reproduce); runs that are "
                        "finished there are not repeated",
                        "Job"},
                       settings->out),
           count_option(
               {"seeds", "N", "number of seeds; each draws samples, graph and batches (10)", "Job"},
               settings->seeds, 1),
           switch_option(
               {"quick", "", "a small version of every figure, to check that all works", "Job"},
               settings->quick),
           switch_option({"quiet", "", "print errors only", "Output"}, settings->quiet)},
      .run = [settings] { return reproduce(*settings); }};
}

}  // namespace grove::app
