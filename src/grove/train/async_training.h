#pragma once

#include "grove/train/record_builder.h"

namespace grove {

/// Trains without rounds, on a cluster: see docs/clusters.md.
Result<RunRecord> train_asynchronously(const MethodSetup& setup, const RunContext& context);

}  // namespace grove
