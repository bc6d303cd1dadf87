#pragma once

#include "grove/base/result.h"

namespace grove::app {

/// The program comes in two. `grove` is what most commands need. `grove-full`, beside it, has all:
/// peers, MPI and downloads too, which load a hundred shared libraries and with that would take
/// 20 ms of every command. This one is replaced by that where the command line or a launcher asks
/// for what only that has. Returns unless it is; never where it cannot be.
void become_full_program_if_needed(int argc, char** argv);

/// A run is to have MPI, and this program has none: it is replaced by the one that has, or else
/// what to do.
Error without_mpi();

}  // namespace grove::app
