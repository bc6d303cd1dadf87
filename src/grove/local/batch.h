#pragma once

#include "grove/agent/workspace.h"
#include "grove/base/random.h"
#include "grove/local/local_solver.h"

namespace grove {

/// `size` rows of {0, ..., population-1}, each subset equally likely, into workspace.rows.
/// Takes time proportional to `size` once the workspace has seen the population.
void draw_batch(const RandomKey& key, Index size, Index population, Workspace& workspace);

/// The same as a batch, valid until the next draw; all rows if they are as many.
Batch draw_batch_or_all(const RandomKey& key, Index size, Index population, Workspace& workspace);

/// Of the batch with that number among those of an activation.
RandomKey batch_key(const SolverTurn& turn, Purpose purpose, std::uint64_t number);

}  // namespace grove
