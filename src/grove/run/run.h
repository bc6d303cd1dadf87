#pragma once

#include <functional>
#include <optional>

#include "grove/problem/reference.h"
#include "grove/run/config.h"
#include "grove/run/instance.h"
#include "grove/run/record.h"

namespace grove {

/// What the core may not do itself: tell the time, report, and hear that it should stop.
struct RunHooks {
  std::function<double()> seconds = [] { return 0.0; };  ///< a monotonic clock
  std::function<void(const TracePoint&)> measured = [](const TracePoint&) {};
  std::function<bool()> interrupted = [] { return false; };
};

/// A problem and its optimum, shared by the runs that are to be compared.
struct PreparedProblem {
  Instance instance;
  std::optional<ReferenceSolution> reference;
  std::vector<std::string> notes;
};

Result<PreparedProblem> prepare(const Config& config);

/// Trains on a prepared problem. `config` must describe the same problem.
Result<RunRecord> run_prepared(Config config, const PreparedProblem& problem,
                               const RunHooks& hooks = {});

/// prepare and run_prepared in one: config in, record out.
Result<RunRecord> run(const Config& config, const RunHooks& hooks = {});

}  // namespace grove
