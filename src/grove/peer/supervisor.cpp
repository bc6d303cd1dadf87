#include "grove/peer/supervisor.h"

#include <algorithm>
#include <csignal>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "grove/base/file.h"
#include "grove/peer/clock.h"

namespace grove::peer {
namespace {

constexpr double restart_after_seconds = 0.3;
constexpr double quick_exit_seconds = 2;
constexpr int max_quick_exits = 5;
constexpr int exit_without_members = 6;  ///< exit code of `grove peer`

/// Reads the outcome from the summary that a peer writes when it ends.
bool converged(const Layout::Peer& peer) {
  const auto text = read_file(peer.folder / "state" / "summary.json");
  if (!text) return false;
  const auto summary = nlohmann::json::parse(*text, nullptr, false);
  return summary.is_object() && summary.value("outcome", "") == "converged";
}

}  // namespace

Supervisor::Supervisor(const Layout& layout, std::filesystem::path program)
    : layout_(layout), program_(std::move(program)), children_(layout.peers.size()) {}

Supervisor::~Supervisor() {
  terminate();
  const double until = monotonic_seconds() + 5;
  for (const Child& child : children_)
    while (child.state == State::running && ::waitpid(child.process, nullptr, WNOHANG) == 0) {
      if (monotonic_seconds() >= until) ::kill(child.process, SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

void Supervisor::start(std::size_t peer, double now) {
  const Layout::Peer& one = layout_.peers[peer];
  const std::string log = (one.folder / "log.txt").string(),
                    config = (one.folder / "peer.toml").string();
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  std::string program = program_.string(), command = "peer", flag = "--config", value = config;
  char* arguments[] = {program.data(), command.data(), flag.data(), value.data(), nullptr};
  // In its own process group, so that Ctrl-C reaches only the supervisor, which ends the peers.
  posix_spawnattr_t group;
  posix_spawnattr_init(&group);
  posix_spawnattr_setflags(&group, POSIX_SPAWN_SETPGROUP);
  Child& child = children_[peer];
  const int failed =
      ::posix_spawn(&child.process, program.c_str(), &files, &group, arguments, environ);
  posix_spawnattr_destroy(&group);
  posix_spawn_file_actions_destroy(&files);
  child.started = now;
  child.state = failed == 0 ? State::running : State::failed;
}

void Supervisor::poll(double now) {
  for (std::size_t peer = 0; peer < children_.size(); ++peer) {
    Child& child = children_[peer];
    int wait_status = 0;
    if (child.state == State::running &&
        ::waitpid(child.process, &wait_status, WNOHANG) == child.process)
      record_exit(peer, wait_status, now);
    if (child.state == State::waiting && !ending_ && now >= child.start_at) start(peer, now);
  }
}

void Supervisor::record_exit(std::size_t peer, int wait_status, double now) {
  Child& child = children_[peer];
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == exit_without_members) {
    child.state = State::without;
    return;
  }
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) {
    child.state = converged(layout_.peers[peer]) ? State::converged : State::stopped;
    return;
  }
  if (ending_ && WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGTERM) {
    child.state = State::stopped;  // SIGTERM arrived before the peer handled it
    return;
  }
  child.quick_exits = now - child.started < quick_exit_seconds ? child.quick_exits + 1 : 0;
  // A peer that exits with an error would do so again; one that was killed or crashed may not.
  const bool permanent = WIFEXITED(wait_status) || child.quick_exits >= max_quick_exits;
  child.state = permanent || ending_ ? State::failed : State::waiting;
  child.start_at = now + restart_after_seconds;
  ++child.restarts;
}

bool Supervisor::any_running() const {
  return std::ranges::any_of(children_, [&](const Child& child) {
    return child.state == State::running || (child.state == State::waiting && !ending_);
  });
}

bool Supervisor::all_converged() const {
  return std::ranges::all_of(children_,
                             [](const Child& child) { return child.state == State::converged; });
}

bool Supervisor::all_converged_or_without() const {
  return std::ranges::all_of(children_, [](const Child& child) {
    return child.state == State::converged || child.state == State::without;
  });
}

bool Supervisor::any_failed() const {
  return std::ranges::any_of(children_,
                             [](const Child& child) { return child.state == State::failed; });
}

void Supervisor::terminate() {
  if (std::exchange(ending_, true)) return;  // a second SIGTERM would kill the peers
  for (const Child& child : children_)
    if (child.state == State::running) ::kill(child.process, SIGTERM);
}

}  // namespace grove::peer
