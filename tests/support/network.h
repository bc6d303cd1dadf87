#pragma once

#include <memory>
#include <string>
#include <vector>

#include "grove/agent/agent.h"
#include "grove/methods/method.h"
#include "grove/runtime/simulator.h"
#include "support/problem.h"

namespace grove::testing_support {

using Agents = std::vector<std::unique_ptr<Agent>>;

/// A method as the suites go through it.
struct MethodCase {
  std::string name;
  MethodOptions options;
  int work = 1;

  const DruidOptions* druid() const { return std::get_if<DruidOptions>(&options); }
  bool keeps_theta() const { return druid() && druid()->theta_penalty; }
  bool publishes_weights() const { return druid() && published_form(*druid()); }
  bool draws_batches() const;
};

/// Every method, each local model and kind of coupling where there is a choice, tuned for problems
/// as make_problem draws them (features of unit scale).
std::vector<MethodCase> every_method();

/// Agents of one method; agent `holder` applies r where only one agent does.
Agents make_agents_of(const MethodCase& method, const Instance& instance,
                      AgentId holder = AgentId{0});

/// A simulator on one thread, with all agents active in every round, unless options differ.
struct SimulationOptions {
  double participation = 1;              ///< of every agent
  std::vector<double> participation_of;  ///< by agent, in place of the number above
  AgentId holder{0};                     ///< applies r where only one agent does
  LinkFaults faults;
  std::uint64_t seed = 1;
  int threads = 1;
};
Simulator simulate(const MethodCase& method, const Instance& instance,
                   const SimulationOptions& options = {});

std::string state_of(const Agent& agent);
Status restore(Agent& agent, const std::string& state);

/// sum_i |x_i - x|^2
double squared_distance(const Agents& agents, const Vector& x);

}  // namespace grove::testing_support
