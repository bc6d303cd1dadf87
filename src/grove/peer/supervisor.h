#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

#include "grove/peer/layout.h"

namespace grove::peer {

/// The processes of a network on this machine: starts them, starts those again that die, and ends
/// them.
class Supervisor {
 public:
  enum class State { running, waiting, converged, stopped, failed };

  Supervisor(const Layout& layout, std::filesystem::path program);
  ~Supervisor();  ///< ends what still runs

  void look(double now);  ///< notices deaths, restarts what should run
  bool any_running() const;
  State state(std::size_t peer) const { return children_[peer].state; }
  int restarts(std::size_t peer) const { return children_[peer].restarts; }
  bool all_converged() const;
  bool any_failed() const;  ///< could not start, gave up, or died again and again
  void terminate();         ///< asks all, once, to end cleanly

 private:
  struct Child {
    pid_t process = -1;
    State state = State::waiting;
    double started = 0, start_at = 0;
    int restarts = 0, quick_deaths = 0;
  };
  void start(std::size_t peer, double now);
  void note_end(std::size_t peer, int wait_status, double now);

  const Layout& layout_;
  std::filesystem::path program_;
  std::vector<Child> children_;
  bool ending_ = false;
};

}  // namespace grove::peer
