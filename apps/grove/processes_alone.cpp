#include "grove/run/run.h"
#include "processes.h"

// A build without MPI: there is one process.
namespace grove::app {

Processes::Processes() = default;
Processes::~Processes() = default;

bool speaks() { return true; }
Status together(const Status& own) { return own; }
int leave(int exit_code) { return exit_code; }

Result<Cluster*> place_run(Config& config) {
  if (config.runtime == RuntimeKind::mpi)
    return Error{"--runtime",
                 "this build has no MPI; install an MPI library (Debian: libopenmpi-dev, "
                 "openmpi-bin) and build again, or use simulator"};
  if (Status status = place(config, nullptr); !status) return status.error();
  return static_cast<Cluster*>(nullptr);
}

}  // namespace grove::app
