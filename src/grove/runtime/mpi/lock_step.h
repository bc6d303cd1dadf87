#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "grove/runtime/cluster.h"
#include "grove/runtime/delayed_delivery.h"
#include "grove/runtime/mpi/exchange.h"
#include "grove/runtime/workers.h"

namespace grove::mpi {

/// The agents of one process of a lock-step run. Plays the same rounds as the simulator, bit for
/// bit: who works is a function of the seed, and every agent hears its neighbours in slot order.
class LockStep final : public Runtime {
 public:
  LockStep(MPI_Comm processes, std::vector<std::unique_ptr<Agent>> agents, const Graph& graph,
           Schedule schedule, const ClusterOptions& options);

  void advance() override;
  Round round() const override { return round_; }
  std::size_t active() const override;
  Cost cost() const override;
  Estimates estimates() const override;
  std::vector<AgentReport> agent_reports() const override;
  std::vector<std::string> states() const override;
  Status restore(Round round, std::span<const std::string> states) override;
  std::vector<ProcessReport> reports() const override;

 private:
  static constexpr std::size_t in_memory = static_cast<std::size_t>(-1);

  /// A neighbour as a receiver sees it.
  struct Source {
    AgentId sender;
    std::size_t slot_at_sender;
    std::size_t incoming;  ///< position in exchange_.incoming(), or in_memory
  };

  void find_sources(const Graph& graph);
  void draw_activations();
  void work(std::span<const std::uint32_t> agents);
  void pack();
  void deliver_to(std::size_t receiver);
  const std::optional<Activation>& activation_of(AgentId agent) const;
  Agent& agent(AgentId id) const { return *agents_[id.value - own_.first]; }

  MPI_Comm processes_;
  std::size_t network_size_;
  AgentRange own_;
  std::vector<std::unique_ptr<Agent>> agents_;
  Schedule schedule_;
  Exchange exchange_;
  DelayedDelivery delivery_;
  std::function<double()> seconds_;
  double slowness_;
  std::function<void(double)> pause_;
  std::unique_ptr<Workers> workers_;

  std::vector<std::vector<Source>> sources_;  ///< by own agent, in slot order
  std::vector<std::uint32_t> border_;    ///< own agents (positions) with links to other processes
  std::vector<std::uint32_t> interior_;  ///< the others: they work while messages travel
  std::vector<AgentId> watched_;         ///< agents whose activations matter here, sorted
  std::vector<std::optional<Activation>> activations_;  ///< of watched_ in this round
  Round round_ = 0;
  ProcessReport report_;
};

}  // namespace grove::mpi
