#include "terminal.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <thread>

#include <unistd.h>

#include <fmt/format.h>

#include "grove/report/summary.h"

namespace grove::app {
namespace {

volatile std::sig_atomic_t interrupt_count = 0;

void on_interrupt(int signal) {
  interrupt_count = interrupt_count + 1;
  if (interrupt_count > 1) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void watch_for_interrupts() {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

bool interrupted() { return interrupt_count > 0; }

ProgressLine::ProgressLine(const Config& config, std::string name, bool quiet)
    : rounds_(config.rounds),
      tolerance_(config.tolerance),
      name_(std::move(name)),
      visible_(!quiet && ::isatty(STDERR_FILENO)),
      began_(monotonic_seconds()) {}

ProgressLine::~ProgressLine() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
}

/// To the round limit at the pace so far, or to the tolerance at the rate so far if that is sooner.
double ProgressLine::seconds_left(const TracePoint& point) const {
  const double per_round =
      (monotonic_seconds() - began_) / static_cast<double>(std::max<Round>(1, point.round));
  double rounds = static_cast<double>(rounds_ - point.round);
  const double gained = std::log(start_stationarity_ / point.stationarity);
  if (tolerance_ > 0 && gained > 0) {
    const double wanted = std::log(point.stationarity / (tolerance_ * start_stationarity_));
    rounds = std::min(rounds, static_cast<double>(point.round) * std::max(0.0, wanted) / gained);
  }
  return per_round * rounds;
}

void ProgressLine::show(const TracePoint& point) {
  if (!visible_) return;
  if (point.round == 0) start_stationarity_ = point.stationarity;
  const double now = monotonic_seconds();
  if (now - last_shown_ < 0.1) return;
  last_shown_ = now;
  drawn_ = true;
  fmt::print(stderr, "\r\033[K{} round {}/{}  stationarity {:.2e}  consensus {:.2e}  {} left",
             name_, point.round, rounds_, point.stationarity, point.consensus_error,
             human_seconds(seconds_left(point)));
  std::fflush(stderr);
}

RunHooks terminal_hooks(ProgressLine& line) {
  return {.seconds = monotonic_seconds,
          .measured = [&line](const TracePoint& point) { line.show(point); },
          .pause =
              [](double seconds) {
                std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
              },
          .interrupted = interrupted};
}

}  // namespace grove::app
