#include "processes.h"

#include <csignal>
#include <memory>
#include <string>

#include "grove/train/run.h"
#include "launcher.h"
#include "plugin.h"
#include "wrapper.h"

namespace grove::app {
namespace {

/// MPI, once it has been started.
std::unique_ptr<ClusterSession>& session() {
  static std::unique_ptr<ClusterSession> started;
  return started;
}

Status ensure_session() {
  if (session()) return success();
  const auto started = start_session();
  if (!started) return started.error();
  session().reset(*started);
  return success();
}

}  // namespace

Processes::Processes() {
  const char* rank = rank_from_launcher();
  if (rank == nullptr) return;
  stand_guard(std::string("process ") + rank);
  // A build without MPI is no error before the run is placed: it may be one that needs none.
  [[maybe_unused]] const Status started = ensure_session();
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
  if (config.runtime == RuntimeKind::mpi)
    if (Status status = ensure_session(); !status) return status.error();
  // One process under a launcher may simulate as well as any other.
  const bool alone = !session() || session()->cluster().size() == 1;
  Cluster* cluster =
      alone && config.runtime == RuntimeKind::simulator ? nullptr : &session()->cluster();
  if (Status status = bind_to_cluster(config, cluster); !status) return status.error();
  return cluster;
}

}  // namespace grove::app
