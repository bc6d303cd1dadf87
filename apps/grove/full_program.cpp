// grove-full: all there is.
#include "full_program.h"

namespace grove::app {

void become_full_program_if_needed(int /*argc*/, char** /*argv*/) {}

}  // namespace grove::app
