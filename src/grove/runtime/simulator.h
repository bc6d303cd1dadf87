#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "grove/runtime/machines.h"
#include "grove/runtime/round_driver.h"
#include "grove/runtime/runtime.h"

namespace grove {

struct SimulatorOptions {
  std::uint64_t seed = 1;
  LinkFaults faults;                 ///< only for links that tolerate them (LinkKind::edge)
  int threads = 0;                   ///< 0: as many as the machine has
  std::optional<Machines> machines;  ///< on which the agents are assumed to run
  bool counts_traffic = false;
};

/// All agents of a network in one process, in lock-step rounds.
class Simulator final : public Runtime {
 public:
  Simulator(std::vector<std::unique_ptr<Agent>> agents, const Graph& graph, Schedule schedule,
            const SimulatorOptions& options);

  void advance() override;
  Round round() const override { return driver_.round(); }
  std::size_t active() const override;
  Cost cost() const override;
  Estimates estimates() const override { return estimates_of(agents()); }
  std::optional<double> round_seconds() const override;
  std::vector<AgentReport> agent_reports() const override { return reports_of(agents()); }
  std::vector<bool> active_agents() const override;
  std::vector<LinkTraffic> traffic() const override { return driver_.traffic(); }
  std::vector<std::string> states() const override { return driver_.states(); }
  Status restore(Round round, std::span<const std::string> states) override;
  const std::vector<std::unique_ptr<Agent>>& agents() const { return driver_.agents(); }

 private:
  void time_round();

  RoundDriver driver_;
  std::optional<Machines> machines_;
  std::vector<Cost> spent_;  ///< by agent, up to the last round; with machines only
  double round_seconds_ = 0;
};

}  // namespace grove
