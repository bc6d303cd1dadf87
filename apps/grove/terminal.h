#pragma once

#include <cstdint>
#include <string>

#include "grove/run/run.h"

namespace grove::app {

/// Seconds since some fixed moment; never jumps.
double monotonic_seconds();

/// Makes Ctrl-C and SIGTERM ask for a clean end; a second one kills.
void watch_for_interrupts();
bool interrupted();

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
  double start_stationarity_ = 0;
};

/// Hooks that time a run, show its progress and let Ctrl-C end it.
RunHooks terminal_hooks(ProgressLine& line);

}  // namespace grove::app
