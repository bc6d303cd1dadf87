#include <csignal>
#include <memory>
#include <string>

#include "grove/runtime/mpi/cluster.h"
#include "grove/train/run.h"
#include "launcher.h"
#include "processes.h"
#include "wrapper.h"

namespace grove::app {
namespace {

/// MPI, once it has been started.
std::unique_ptr<mpi::Session>& session() {
  static std::unique_ptr<mpi::Session> started;
  return started;
}

}  // namespace

Processes::Processes() {
  if (const char* rank = rank_from_launcher()) {
    stand_guard(std::string("process ") + rank);
    session() = std::make_unique<mpi::Session>();
  }
}

Processes::~Processes() {
  if (!session()) return;
  // All has been said and written. A launcher that sees the first process leave with an error ends
  // the others at once; none of them is interrupted by that.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  session().reset();
}

bool is_root() { return !session() || session()->cluster().rank() == 0; }

Status all_ok(const Status& own) {
  return session() ? first_error(session()->cluster(), own) : own;
}

int abort_job(int exit_code) {
  if (session() && session()->cluster().size() > 1) session()->abort(exit_code);
  return exit_code;
}

Result<Cluster*> place_run(Config& config) {
  if (config.runtime == RuntimeKind::mpi && !session())
    session() = std::make_unique<mpi::Session>();
  // One process under a launcher may simulate as well as any other.
  const bool alone = !session() || session()->cluster().size() == 1;
  Cluster* cluster =
      alone && config.runtime == RuntimeKind::simulator ? nullptr : &session()->cluster();
  if (Status status = bind_to_cluster(config, cluster); !status) return status.error();
  return cluster;
}

}  // namespace grove::app
