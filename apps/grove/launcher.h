#pragma once

#include <cstdlib>

namespace grove::app {

/// Launchers give a process its rank through one of these (Open MPI, PMIx, MPICH and Slurm). Known
/// before MPI starts, so that even a mistyped flag is reported once.
inline const char* rank_from_launcher() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (const char* rank = std::getenv(name)) return rank;
  return nullptr;
}

}  // namespace grove::app
