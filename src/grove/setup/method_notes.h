#pragma once

#include "grove/setup/method_setup.h"

namespace grove {

// What the user should know about the settings before the run: each function adds to setup.notes.

/// Options that were given and have no effect: most likely meant for another method or file. An
/// option that was given as it is anyway cannot be distinguished from one that was not.
void note_idle_options(const Config& config, const Instance& instance, MethodSetup& setup);

/// Batches that are larger than the smallest shard.
void note_clamped_batches(const Config& config, const Instance& instance, MethodSetup& setup);

/// Several linearized steps with a proximal weight below what is guaranteed to be stable. Sets
/// setup.beyond_bound.
void note_linearized_bound(const Config& config, const Instance& instance, MethodSetup& setup);

}  // namespace grove
