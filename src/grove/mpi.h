#pragma once

// Runs on several processes.
#include "grove/runtime/mpi/cluster.h"
