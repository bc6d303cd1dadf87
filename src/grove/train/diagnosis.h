#pragma once

#include <span>
#include <string>

#include "grove/network/graph.h"
#include "grove/record/record.h"
#include "grove/setup/config.h"

namespace grove {

/// Why a run did not converge, or took many rounds to, and what to change: one sentence for a
/// person, drawn from the settings, the trace and the problem. Empty where nothing can be said.
/// `beyond_bound`: its settings are not guaranteed to be stable (MethodSetup).
std::string explain_slowness(const Config& config, const RunRecord& record,
                             bool beyond_bound = false);

/// Which agents were rarely active in such a run, and which neighbours waited for them.
/// `activations`: by agent.
std::string explain_inactivity(const RunRecord& record, const Graph& graph,
                               std::span<const std::uint64_t> activations);

/// What safeguards did, in one sentence.
std::string explain_events(std::span<const RunEvent> of_links);

}  // namespace grove
