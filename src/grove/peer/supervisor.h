#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

#include "grove/peer/layout.h"

namespace grove::peer {

/// Starts the peers of a network as processes of this machine, restarts those that crash, and ends
/// them.
class Supervisor {
 public:
  enum class State { running, waiting, converged, stopped, failed, without /**< members */ };

  Supervisor(const Layout& layout, std::filesystem::path program);
  ~Supervisor();  ///< ends the running processes

  void poll(double now);  ///< detects ended processes and restarts crashed ones
  bool any_running() const;
  State state(std::size_t peer) const { return children_[peer].state; }
  int restarts(std::size_t peer) const { return children_[peer].restarts; }
  bool all_converged() const;
  bool all_converged_or_without() const;  ///< some of them without some members
  bool any_failed() const;  ///< could not start, ended with an error, or crashed repeatedly
  void terminate();         ///< sends SIGTERM to all processes, once

 private:
  struct Child {
    pid_t process = -1;
    State state = State::waiting;
    double started = 0, start_at = 0;
    int restarts = 0, quick_exits = 0;
  };
  void start(std::size_t peer, double now);
  void record_exit(std::size_t peer, int wait_status, double now);

  const Layout& layout_;
  std::filesystem::path program_;
  std::vector<Child> children_;
  bool ending_ = false;
};

}  // namespace grove::peer
