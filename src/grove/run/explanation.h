#pragma once

#include <span>
#include <string>

#include "grove/network/graph.h"
#include "grove/run/config.h"
#include "grove/run/record.h"

namespace grove {

/// Why a run that ended at its round limit had not converged by then, and what to change: one
/// sentence for a person, drawn from the trace and the problem. Empty where nothing can be said.
std::string explain_slowness(const Config& config, const RunRecord& record);

/// Which agents hardly ever spoke in a run that has not converged, and who waited for them.
/// `spoken`: activations by agent; may be empty, if unknown.
std::string explain_silence(const RunRecord& record, const Graph& graph,
                            std::span<const std::uint64_t> spoken);

/// What safeguards did, in one sentence.
std::string explain_events(const RunRecord& record);

}  // namespace grove
