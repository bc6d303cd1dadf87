#pragma once

#include "grove/runtime/event_simulator.h"
#include "grove/runtime/runtime.h"

namespace grove {

/// Free-running agents counted in rounds: one has passed when the agents have finished as many
/// activations as there are agents.
class AsyncSimulator final : public Runtime {
 public:
  AsyncSimulator(std::vector<std::unique_ptr<Agent>> agents, const Graph& graph,
                 std::vector<int> work_loads, EventOptions options)
      : events_(std::move(agents), graph, std::move(work_loads), std::move(options)) {}

  void advance() override;
  Round round() const override { return round_; }
  std::size_t active() const override { return active_; }  ///< that finished something in the round
  Cost cost() const override { return events_.cost(); }
  Estimates estimates() const override { return estimates_of(events_.agents()); }
  std::vector<AgentReport> agent_reports() const override { return reports_of(events_.agents()); }
  std::vector<bool> active_agents() const override { return worked_; }
  std::vector<LinkTraffic> traffic() const override { return events_.traffic(); }
  std::optional<double> round_seconds() const override { return events_.now() - round_began_; }

  // Messages on their way belong to moments, not to rounds.
  std::vector<std::string> states() const override { return {}; }
  Status restore(Round round, std::span<const std::string> states) override;

 private:
  EventSimulator events_;
  Round round_ = 0;
  std::size_t active_ = 0;
  std::vector<bool> worked_;  ///< in the last round
  double round_began_ = 0;    ///< virtual seconds
};

}  // namespace grove
