// grove-full: all there is.
#include "full_program.h"

namespace grove::app {

void become_full_program_if_needed(int /*argc*/, char** /*argv*/) {}

Error without_mpi() {
  return {"--runtime",
          "this build has no MPI; install an MPI library (Debian: libopenmpi-dev, openmpi-bin) and "
          "build again, or use simulator"};
}

}  // namespace grove::app
