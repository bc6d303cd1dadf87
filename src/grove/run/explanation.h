#pragma once

#include <string>

#include "grove/run/config.h"
#include "grove/run/record.h"

namespace grove {

/// Why a run that ended at its round limit had not converged by then, and what to change: one
/// sentence for a person, drawn from the trace and the problem. Empty where nothing can be said.
std::string explain_slowness(const Config& config, const RunRecord& record);

}  // namespace grove
