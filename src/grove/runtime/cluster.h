#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "grove/agent/agent.h"
#include "grove/network/graph.h"
#include "grove/runtime/agent_range.h"
#include "grove/runtime/runtime.h"
#include "grove/schedule/schedule.h"

namespace grove {

/// Processes get blocks of agents whose sizes differ by at most one.
AgentRange agents_of(std::size_t agents, int rank, int processes);
int process_of(AgentId agent, std::size_t agents, int processes);

struct ClusterOptions {
  std::uint64_t seed = 1;
  LinkFaults faults;
  int threads = 0;  ///< per process; 0: its share of the machine's cores
  std::function<double()> seconds = [] { return 0.0; };
  double slowness = 1;  ///< factor on the time that this process takes for its agents' work
  std::function<void(double)> pause = [](double) {};  ///< for that many seconds
};

/// Decides when an asynchronous run is over, from sums over all processes.
class StopVote {
 public:
  virtual ~StopVote() = default;

  /// The values of this process; their number is always the same.
  virtual std::vector<double> contribute(std::span<const std::unique_ptr<Agent>> own) = 0;

  /// The sums of a contribute of every process. True: the run is over. The answer must be the same
  /// in all processes.
  virtual bool decide(std::span<const double> totals) = 0;
};

/// Agents that run asynchronously, in processes that never wait for each other. Needs edge
/// coupling.
class AsyncRuntime {
 public:
  virtual ~AsyncRuntime() = default;

  /// Runs until the vote decides that the run is over. Contributions are summed by a non-blocking
  /// reduction; the next one begins when the last one has completed.
  virtual void run(StopVote& vote) = 0;

  // The whole network, known to every process, before or after run(). Collective.
  virtual Cost cost() const = 0;
  virtual Estimates estimates() const = 0;
  virtual std::vector<AgentReport> agent_reports() const = 0;  ///< by agent
  virtual std::vector<ProcessReport> reports() const = 0;
};

/// The processes of one run, numbered from 0. Every call but rank() and size() is collective: all
/// processes make the same calls in the same order.
class Cluster {
 public:
  virtual ~Cluster() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  virtual std::int64_t allreduce_max(std::int64_t own) = 0;
  virtual void broadcast(std::string& bytes, int from) = 0;
  /// The values of all processes one after the other, by rank.
  virtual std::vector<double> gather(std::span<const double> own) = 0;

  /// The sum over all processes in rank order, as one process alone would add: `add_own` adds this
  /// process's part to the sum of those before it. Bit-equal, which a reduction tree is not.
  virtual void ordered_sum(std::span<double> total, const std::function<void()>& add_own) = 0;

  /// Starts the agents of this process, agents_of(graph.agents(), rank(), size()), in lock step.
  virtual std::unique_ptr<Runtime> start(std::vector<std::unique_ptr<Agent>> agents,
                                         const Graph& graph, Schedule schedule,
                                         const ClusterOptions& options) = 0;

  /// The same, without rounds. `work_loads` of all agents.
  virtual std::unique_ptr<AsyncRuntime> start_async(std::vector<std::unique_ptr<Agent>> agents,
                                                    const Graph& graph,
                                                    const std::vector<int>& work_loads,
                                                    const ClusterOptions& options) = 0;
};

/// Success if every process succeeded; otherwise, at all of them, the error of the first that did
/// not.
Status first_error(Cluster& cluster, const Status& own);

}  // namespace grove
