#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "grove/problem/reference.h"
#include "grove/record/record.h"
#include "grove/setup/config.h"
#include "grove/setup/instance.h"

namespace grove {

class Cluster;

/// What the core may not do itself: read the clock, report, and learn that it should stop.
struct RunHooks {
  std::function<double()> seconds = [] { return 0.0; };                   ///< a monotonic clock
  std::function<void(std::string_view)> noted = [](std::string_view) {};  ///< before round 1
  std::function<void(const TracePoint&)> measured = [](const TracePoint&) {};
  /// Somebody looks at single agents: the record has an AgentTrace.
  bool agents_wanted = false;
  /// Before round 1: a record without results. Not called in asynchronous runs of a cluster.
  std::function<void(const RunRecord&)> began = [](const RunRecord&) {};
  /// After `measured`, if agents are wanted: the trace up to this round.
  std::function<void(const AgentTrace&)> measured_agents = [](const AgentTrace&) {};
  std::function<void(double)> pause = [](double) {};  ///< for so many seconds
  std::function<bool()> interrupted = [] { return false; };
};

/// A problem and its optimum, shared by the runs that are to be compared.
struct PreparedProblem {
  Instance instance;
  std::optional<ReferenceSolution> reference;
  std::vector<std::string> notes;
  bool unattained = false;  ///< the objective has no minimizer
};

/// Fits the run to where it takes place: one agent per process of a cluster unless given otherwise.
/// An error if --runtime and the presence of a cluster disagree.
Status bind_to_cluster(Config& config, const Cluster* cluster);

// With a cluster, all of the following is collective, and every process gets the same result.

Result<PreparedProblem> prepare(const Config& config, Cluster* cluster = nullptr);
/// The same for an instance that is laid out already.
Result<PreparedProblem> prepare(const Config& config, Instance instance);

/// Trains on a prepared problem. `config` must describe the same problem.
Result<RunRecord> run_prepared(const Config& config, const PreparedProblem& problem,
                               const RunHooks& hooks = {}, Cluster* cluster = nullptr);

/// bind_to_cluster, prepare and run_prepared in one: config in, record out.
Result<RunRecord> run(Config config, const RunHooks& hooks = {}, Cluster* cluster = nullptr);

}  // namespace grove
