#pragma once

#include <functional>
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

  bool is_druid() const { return keeps_theta() || has_curvature(); }
  bool keeps_theta() const { return std::holds_alternative<DruidOptions>(options); }
  bool has_curvature() const { return std::holds_alternative<CurvatureDruidOptions>(options); }
  bool draws_batches() const;
};

/// Every method, each local model and link kind where there is a choice, tuned for problems as
/// make_problem draws them (features of unit scale).
std::vector<MethodCase> every_method();

/// Agents of one method; agent `holder` applies r where only one agent does.
Agents make_agents_of(const MethodCase& method, const Instance& instance,
                      AgentId holder = AgentId{0});

/// A simulator on one thread, everyone always active unless a schedule is given.
struct SimulationOptions {
  double participation = 1;
  LinkFaults faults;
  std::uint64_t seed = 1;
  int threads = 1;
};
Simulator simulate(const MethodCase& method, const Instance& instance,
                   const SimulationOptions& options = {});

/// One lock-step round, written out: the simulator's contract in ten lines.
/// `works(i)`: whether agent i is activated.
void play_round(Agents& agents, const Graph& graph, Round round, int work,
                const std::function<bool(std::size_t)>& works);

std::string state_of(const Agent& agent);
Status restore(Agent& agent, const std::string& state);

/// sum_i |x_i - x|^2
double squared_distance(const Agents& agents, const Vector& x);

}  // namespace grove::testing_support
