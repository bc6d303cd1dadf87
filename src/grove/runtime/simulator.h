#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "grove/agent/agent.h"
#include "grove/network/graph.h"
#include "grove/runtime/delayed_delivery.h"
#include "grove/runtime/machines.h"
#include "grove/runtime/runtime.h"
#include "grove/schedule/schedule.h"

namespace grove {

class Workers;

struct SimulatorOptions {
  std::uint64_t seed = 1;
  LinkFaults faults;                 ///< only for links that can bear them (LinkKind::edge)
  int threads = 0;                   ///< 0: as many as the machine has
  std::optional<Machines> machines;  ///< that the agents are thought to run on
};

/// All agents of a network in one process, in lock-step rounds. Agents work in parallel; the
/// result does not depend on the number of threads, because an agent touches only its own state
/// and hears its neighbours in slot order.
class Simulator final : public Runtime {
 public:
  Simulator(std::vector<std::unique_ptr<Agent>> agents, const Graph& graph, Schedule schedule,
            const SimulatorOptions& options);
  ~Simulator() override;

  void advance() override;
  Round round() const override { return round_; }
  std::size_t active() const override;
  Cost cost() const override;
  Estimates estimates() const override { return estimates_of(agents_); }
  std::optional<double> round_seconds() const override;
  std::vector<AgentReport> agent_reports() const override { return reports_of(agents_); }
  std::vector<std::string> states() const override;
  Status restore(Round round, std::span<const std::string> states) override;
  const std::vector<std::unique_ptr<Agent>>& agents() const { return agents_; }

 private:
  /// A neighbour as a receiver sees it: who speaks, and which of its messages is for the receiver.
  struct Source {
    AgentId sender;
    std::size_t slot_at_sender;
  };

  void work();
  void time_round();
  void deliver();
  void deliver_to(std::size_t receiver);

  std::vector<std::unique_ptr<Agent>> agents_;
  std::vector<std::size_t> first_source_;  ///< sources of agent i: [first_source_[i], [i+1])
  std::vector<Source> sources_;            ///< in slot order of each receiver
  Schedule schedule_;
  Round round_ = 0;
  std::vector<std::optional<Activation>> activations_;  ///< of the current round
  DelayedDelivery delivery_;
  std::optional<Machines> machines_;
  std::vector<Cost> spent_;  ///< by agent, up to the round before; with machines only
  double round_seconds_ = 0;
  std::unique_ptr<Workers> workers_;
};

}  // namespace grove
