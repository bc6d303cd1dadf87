#pragma once

#include "grove/agent/workspace.h"
#include "grove/base/random.h"

namespace grove {

/// `size` rows of {0, ..., population-1}, each subset equally likely, into workspace.rows.
/// Takes time proportional to `size` once the workspace has seen the population.
void draw_batch(const RandomKey& key, Index size, Index population, Workspace& workspace);

}  // namespace grove
