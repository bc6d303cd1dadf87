#include "terminal.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <limits>
#include <string_view>
#include <thread>

#include <unistd.h>

#include <fmt/format.h>

#include "command.h"
#include "grove/record/summary.h"
#include "processes.h"

namespace grove::app {
namespace {

volatile std::sig_atomic_t was_interrupted = 0;
/// Whether this process prints that it was interrupted: one of several does.
volatile std::sig_atomic_t reports_interrupt = 1;

/// Only calls that a signal handler may make.
void exit_at_once(int) {
  constexpr std::string_view line = "grove: interrupted; nothing was written\n";
  constexpr std::string_view again = "grove: interrupted again; ended at once\n";
  const std::string_view message = was_interrupted ? again : line;
  if (reports_interrupt) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, message.data(), message.size());
  }
  ::_exit(ended_by_user);
}

void request_stop(int signal) {
  if (was_interrupted) exit_at_once(signal);
  was_interrupted = 1;
}

/// Rounds until a measure falls to `share` of its largest value, at its mean rate since then.
double rounds_to_share(const Reading& largest, Round round, double value, double share) {
  const double gained = std::log(largest.value / value);
  const double wanted = std::log(value / (share * largest.value));
  if (!(wanted > 0)) return 0;
  if (!(gained > 0)) return std::numeric_limits<double>::infinity();
  return static_cast<double>(round - largest.round) * wanted / gained;
}

}  // namespace

double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void leave_on_interrupt() {
  reports_interrupt = is_root();
  std::signal(SIGINT, exit_at_once);
  std::signal(SIGTERM, exit_at_once);
}

void watch_for_interrupts() {
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
}

bool interrupted() { return was_interrupted != 0; }

ProgressLine::ProgressLine(const Config& config, std::string name, bool quiet)
    : rounds_(config.rounds),
      tolerance_(config.tolerance),
      name_(std::move(name)),
      visible_(!quiet && ::isatty(STDERR_FILENO)),
      began_(monotonic_seconds()) {}

ProgressLine::~ProgressLine() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
}

/// The time to the round limit at the pace so far, or until both measures are within the tolerance
/// if that is sooner; for rounds after the first. The largest consensus error so far stands for the
/// norm of x, which is not measured.
double ProgressLine::seconds_left(const TracePoint& point) const {
  const double per_round = (monotonic_seconds() - began_) / static_cast<double>(point.round);
  double rounds = static_cast<double>(rounds_ - point.round);
  if (tolerance_ > 0)
    rounds = std::min(rounds, std::max(rounds_to_share(start_stationarity_, point.round,
                                                       point.stationarity, tolerance_),
                                       rounds_to_share(largest_consensus_error_, point.round,
                                                       point.consensus_error, tolerance_)));
  return per_round * rounds;
}

void ProgressLine::show(const TracePoint& point) {
  if (!visible_) return;
  if (point.round == 0) start_stationarity_ = {point.round, point.stationarity};
  if (point.consensus_error >= largest_consensus_error_.value)
    largest_consensus_error_ = {point.round, point.consensus_error};
  const double now = monotonic_seconds();
  if (now - last_shown_ < 0.1) return;
  last_shown_ = now;
  drawn_ = true;
  fmt::print(stderr, "\r\033[K{}: round {} of {}, stationarity {:.1e}, consensus error {:.1e}",
             name_, point.round, rounds_, point.stationarity, point.consensus_error);
  if (point.round > 0) fmt::print(stderr, ", about {} left", human_seconds(seconds_left(point)));
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
