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

constexpr int interrupted_code = 130;  // what shells give for Ctrl-C

struct ReproduceSettings {
  std::string figure = "all";
  std::string data;
  std::string out = "grove-reproduce";
  std::uint64_t seeds = 0;
  bool quick = false;
  bool quiet = false;
};

/// A run stays on one thread, so its processor time is what it would take on an idle machine.
double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// "137/1200 runs, 3 min 05 s left", rewritten in place on a terminal.
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
    fmt::print(stderr, "\r\033[Kreproduce {}/{} runs{}", progress.cells_done, progress.cells,
               std::isfinite(left) ? ", " + human_seconds(left) + " left" : "");
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
    fmt::print(stderr, "grove: interrupted; the same command goes on from here\n");
    return interrupted_code;
  }
  if (!settings.quiet)
    fmt::print("wrote report.html, report.md, pictures (svg, png), csv and records to {}\n",
               settings.out);
  return ok;
}

Option figure_option(std::string& target) {
  return choice_option<std::string>(
      {"figure", "", "which of the paper's figures, or work on unequal machines (all)", "Job"},
      target, {{"1", "1"}, {"2", "2"}, {"3", "3"}, {"work", "work"}, {"all", "all"}});
}

}  // namespace

Command reproduce_command() {
  auto settings = std::make_shared<ReproduceSettings>();
  return {
      .name = "reproduce",
      .summary = "the paper's experiments, drawn again beside what it reports",
      .positionals = {},
      .options =
          {figure_option(settings->figure),
           text_option({"data", "FILE", "ijcnn1 (a built-in set like it)", "Job"}, settings->data),
           text_option({"out", "DIR",
                        "where results go (grove-reproduce); finished runs "
                        "found there are not run again",
                        "Job"},
                       settings->out),
           count_option({"seeds", "N", "samples, graphs and batches (10)", "Job"}, settings->seeds,
                        1),
           switch_option({"quick", "", "a small form of everything", "Job"}, settings->quick),
           switch_option({"quiet", "", "print nothing but errors", "Output"}, settings->quiet)},
      .run = [settings] { return reproduce(*settings); }};
}

}  // namespace grove::app
