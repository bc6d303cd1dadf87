#pragma once

#include <string>
#include <vector>

#include "grove/runtime/cluster.h"
#include "grove/setup/method_setup.h"
#include "grove/train/measures.h"
#include "grove/train/run.h"

namespace grove {

/// What a training run is made from.
struct RunContext {
  const PreparedProblem& problem;
  const RunHooks& hooks;
  Cluster* cluster;  ///< null: all agents live in this process
};

ClusterOptions cluster_options(const Config& config, const RunContext& context);

Answer answer_of(const MethodSetup& setup);

/// The agents' models in the user's coordinates.
Estimates user_estimates(Estimates estimates, const Instance& instance, const MethodSetup& setup);

/// What the user should know before the run.
std::vector<std::string> notes_of(const PreparedProblem& problem, const MethodSetup& setup);

/// What most likely drove a run apart, and what to change.
std::string diagnosis(const MethodSetup& setup, Round round);

/// Fills in what is known before the first round.
void begin_record(RunRecord& record, const PreparedProblem& problem, const MethodSetup& setup);

struct RecordInputs {
  const PreparedProblem& problem;
  const MethodSetup& setup;
  const Measures& measures;         ///< at the end
  std::vector<AgentReport> agents;  ///< by agent
};

/// Fills in all of a record but trace, outcome, estimates and processes.
void build_record(RunRecord& record, const RecordInputs& closing);

}  // namespace grove
