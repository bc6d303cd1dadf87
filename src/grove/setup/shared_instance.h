#pragma once

#include "grove/runtime/cluster.h"
#include "grove/setup/instance.h"

namespace grove {

/// Completes an instance that has the objectives of instance.own only: those of other processes
/// become what is known of them (samples, smoothness; they cannot be evaluated), and the mean is
/// evaluated by all processes together, with the bits one process alone would get. Collective, and
/// so is every evaluation of the mean. Borrows `cluster`.
void share(Instance& instance, Cluster& cluster);

}  // namespace grove
