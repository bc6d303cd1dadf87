#include "full_program.h"
#include "grove/train/run.h"
#include "processes.h"

// A program without MPI: there is one process.
namespace grove::app {

Processes::Processes() = default;
Processes::~Processes() = default;

bool is_root() { return true; }
Status all_ok(const Status& own) { return own; }
int abort_job(int exit_code) { return exit_code; }

Result<Cluster*> place_run(Config& config) {
  if (config.runtime == RuntimeKind::mpi) return without_mpi();
  if (Status status = bind_to_cluster(config, nullptr); !status) return status.error();
  return static_cast<Cluster*>(nullptr);
}

}  // namespace grove::app
