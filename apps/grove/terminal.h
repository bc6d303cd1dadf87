#pragma once

#include <cstdint>
#include <string>

#include "grove/train/run.h"

namespace grove::app {

/// Seconds since some fixed moment; never jumps.
double monotonic_seconds();

/// Ctrl-C and SIGTERM end the program at once, with one line and the exit code of a user's wish:
/// while data is read and the optimum solved for, there is nothing to keep.
void leave_on_interrupt();

/// From here on the first of them asks for a clean end; another ends the program at once.
void watch_for_interrupts();
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
  Reading start_;  ///< stationarity
  Reading apart_;  ///< the largest disagreement
};

/// Hooks that time a run, show its progress and let Ctrl-C end it.
RunHooks terminal_hooks(ProgressLine& line);

}  // namespace grove::app
