#pragma once

#include <cstdint>
#include <string>

#include "grove/train/run.h"

namespace grove::app {

/// Seconds since some fixed moment; never jumps.
double monotonic_seconds();

/// From now on Ctrl-C and SIGTERM end the program at once, with one line and the exit code
/// ended_by_user: while data is read and the reference solved there is nothing to save.
void leave_on_interrupt();

/// From now on the first such signal requests a clean end; the second ends the program at once.
void watch_for_interrupts();

/// Whether a clean end was requested.
bool interrupted();

/// A measure at a round.
struct Reading {
  Round round = 0;
  double value = 0;
};

/// The progress line of a run, on stderr: rewritten in place on a terminal, silent in a pipe.
class ProgressLine {
 public:
  ProgressLine(const Config& config, std::string name, bool quiet);
  ~ProgressLine();

  void show(const TracePoint& point);

 private:
  double seconds_left(const TracePoint& point) const;

  std::uint64_t rounds_;
  double tolerance_;
  std::string name_;
  bool visible_;
  bool drawn_ = false;
  double began_;
  double last_shown_ = -1;
  Reading start_stationarity_;
  Reading largest_consensus_error_;
};

/// Hooks that time a run, show its progress and let Ctrl-C end it.
RunHooks terminal_hooks(ProgressLine& line);

}  // namespace grove::app
