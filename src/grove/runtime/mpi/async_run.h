#pragma once

#include <memory>
#include <vector>

#include <mpi.h>

#include "grove/runtime/cluster.h"
#include "grove/runtime/mpi/process_links.h"
#include "grove/runtime/workers.h"

namespace grove::mpi {

/// The agents of one process of a run without rounds. It works at its own pace: it hears what has
/// come, works, tells its neighbours, and never waits. Between two processes at most one message is
/// on its way in each direction; who finds the last one not yet heard says nothing, so that a slow
/// process is neither flooded nor waited for.
class AsyncRun final : public AsyncRuntime {
 public:
  AsyncRun(MPI_Comm processes, std::vector<std::unique_ptr<Agent>> agents, const Graph& graph,
           const std::vector<int>& work_loads, const ClusterOptions& options);
  ~AsyncRun() override;
  AsyncRun(const AsyncRun&) = delete;
  AsyncRun& operator=(const AsyncRun&) = delete;

  void run(StopVote& vote) override;
  Cost cost() const override;
  Estimates estimates() const override;
  std::vector<AgentReport> agent_reports() const override;
  std::vector<ProcessReport> reports() const override;

 private:
  /// A neighbour in the same process: messages are handed over in memory.
  struct InnerLink {
    std::size_t sender, slot_at_sender, receiver, slot_at_receiver;
  };

  void hear();
  void work();
  void tell();
  void pack(std::size_t neighbour);
  void unpack(std::size_t neighbour);
  bool receive_from(std::size_t neighbour);
  void leave();
  Agent& agent(AgentId id) const { return *agents_[id.value - own_.first]; }

  MPI_Comm messages_ = MPI_COMM_NULL;  ///< between agents
  MPI_Comm ballots_ = MPI_COMM_NULL;   ///< and beside them
  AgentRange own_;
  std::vector<std::unique_ptr<Agent>> agents_;
  std::vector<int> work_loads_;  ///< of own agents
  ProcessLinks links_;
  std::vector<InnerLink> inner_;
  ClusterOptions options_;
  std::unique_ptr<Workers> workers_;

  std::vector<std::vector<double>> sending_;  ///< by neighbour process
  std::vector<MPI_Request> sent_;             ///< by neighbour process; null: the last was heard
  std::vector<double> received_;
  std::uint64_t turn_ = 0;  ///< activations of each own agent so far
  ProcessReport report_;
};

}  // namespace grove::mpi
