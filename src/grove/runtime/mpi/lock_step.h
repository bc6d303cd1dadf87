#pragma once

#include <memory>
#include <vector>

#include "grove/runtime/cluster.h"
#include "grove/runtime/mpi/exchange.h"
#include "grove/runtime/round_driver.h"

namespace grove::mpi {

/// The agents of one process of a lock-step run: the simulator's rounds, bit for bit, with the
/// messages between processes exchanged by MPI.
class LockStep final : public Runtime {
 public:
  LockStep(MPI_Comm processes, std::vector<std::unique_ptr<Agent>> agents, const Graph& graph,
           Schedule schedule, const ClusterOptions& options);

  void advance() override;
  Round round() const override { return driver_.round(); }
  std::size_t active() const override;
  Cost cost() const override;
  Estimates estimates() const override;
  std::vector<AgentReport> agent_reports() const override;
  std::vector<std::string> states() const override;
  Status restore(Round round, std::span<const std::string> states) override;
  std::vector<ProcessReport> reports() const override;

 private:
  void count_activations();

  MPI_Comm processes_;
  std::size_t network_size_;
  AgentRange own_;
  Schedule schedule_;
  RoundDriver driver_;
  Exchange exchange_;
  std::function<double()> seconds_;
  double slowness_;
  std::function<void(double)> pause_;
  std::vector<std::uint32_t> border_;    ///< own agents (positions) with links to other processes
  std::vector<std::uint32_t> interior_;  ///< the others: they compute while messages are sent
  ProcessReport report_;
};

}  // namespace grove::mpi
