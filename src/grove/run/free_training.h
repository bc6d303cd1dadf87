#pragma once

#include "grove/run/closing.h"

namespace grove {

/// Trains without rounds, on a cluster: see docs/clusters.md.
Result<RunRecord> train_freely(Config config, const MethodSetup& setup, const Scene& scene);

}  // namespace grove
