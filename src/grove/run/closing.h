#pragma once

#include <string>
#include <vector>

#include "grove/run/measures.h"
#include "grove/run/method_setup.h"
#include "grove/run/run.h"

namespace grove {

/// What a training run is made from.
struct Scene {
  const PreparedProblem& problem;
  const RunHooks& hooks;
  Cluster* cluster;  ///< null: all agents live in this process
};

ClusterOptions cluster_options(const Config& config, const Scene& scene);

Answer answer_of(const MethodSetup& setup);

/// What the user should know before the run.
std::vector<std::string> notes_of(const PreparedProblem& problem, const MethodSetup& setup);

/// What most likely drove a run apart, and what to change.
std::string diagnosis(const Config& config, const MethodSetup& setup, Round round);

struct Closing {
  Config& config;  ///< as resolved
  const PreparedProblem& problem;
  const MethodSetup& setup;
  const Measures& measures;         ///< at the end
  std::vector<AgentReport> agents;  ///< by agent
};

/// Fills in all of a record but trace, outcome, estimates and processes.
void close_record(RunRecord& record, const Closing& closing);

}  // namespace grove
