#pragma once

#include <memory>
#include <vector>

#include <mpi.h>

#include "grove/agent/message_codec.h"
#include "grove/runtime/cluster.h"
#include "grove/runtime/mpi/process_links.h"
#include "grove/runtime/workers.h"

namespace grove::mpi {

/// The agents of one process of an asynchronous run. The process repeats: receive what has arrived,
/// activate, send; it never waits. Between two processes at most one message is on its way in each
/// direction. If the last one was not received yet, the next one is not sent, so that a slow
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
  /// A link between two agents of this process: messages are delivered in memory.
  struct InnerLink {
    std::size_t sender, slot_at_sender, receiver, slot_at_receiver;
  };

  void receive_messages();
  void activate_agents();
  void send_messages();
  void encode(std::size_t neighbour);
  void deliver(std::size_t neighbour);
  void finish();
  Agent& agent(AgentId id) const { return *agents_[id.value - own_.first]; }

  MPI_Comm messages_ = MPI_COMM_NULL;  ///< between agents
  MPI_Comm votes_ = MPI_COMM_NULL;     ///< of stop votes
  AgentRange own_;
  std::vector<std::unique_ptr<Agent>> agents_;
  std::vector<int> work_loads_;  ///< of own agents
  ProcessLinks links_;
  std::vector<InnerLink> inner_;
  ClusterOptions options_;
  std::unique_ptr<Workers> workers_;

  std::vector<MessageBuffer> sending_;  ///< by neighbour process
  std::vector<MPI_Request> sent_;       ///< by neighbour process; null: the last was received
  MessageBuffer received_;
  std::uint64_t activations_ = 0;  ///< of each own agent so far
  ProcessReport report_;
};

}  // namespace grove::mpi
