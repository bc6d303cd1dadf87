#pragma once

#include "grove/base/result.h"
#include "grove/runtime/cluster.h"
#include "grove/setup/config.h"

namespace grove::app {

/// The processes this one is part of: itself alone, or all ranks that mpirun started. One object
/// lives as long as main().
class Processes {
 public:
  Processes();
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
};

/// One process, the root, prints and writes the files.
bool is_root();

/// The error of the first process that has one, at every process.
Status all_ok(const Status& own);

/// Where a run takes place: null for the simulator. Fits `config` to it.
Result<Cluster*> place_run(Config& config);

/// Something failed that the others do not know of: ends them too, and returns `exit_code`.
int abort_job(int exit_code);

}  // namespace grove::app
