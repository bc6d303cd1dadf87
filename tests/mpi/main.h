#pragma once

#include <gtest/gtest.h>

#include "grove/runtime/cluster.h"
#include "grove/runtime/mpi/cluster.h"

namespace grove::testing_support {

/// The processes of the test program, while RUN_ALL_TESTS runs.
Cluster& the_cluster();

}  // namespace grove::testing_support
