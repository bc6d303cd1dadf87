#include "full_program.h"
#include "grove/run/run.h"
#include "processes.h"

// A program without MPI: there is one process.
namespace grove::app {

Processes::Processes() = default;
Processes::~Processes() = default;

bool speaks() { return true; }
Status together(const Status& own) { return own; }
int leave(int exit_code) { return exit_code; }

Result<Cluster*> place_run(Config& config) {
  if (config.runtime == RuntimeKind::mpi) return without_mpi();
  if (Status status = place(config, nullptr); !status) return status.error();
  return static_cast<Cluster*>(nullptr);
}

}  // namespace grove::app
