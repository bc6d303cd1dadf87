#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "grove/agent/agent.h"
#include "grove/network/graph.h"
#include "grove/runtime/agent_range.h"
#include "grove/runtime/delayed_delivery.h"
#include "grove/runtime/runtime.h"
#include "grove/schedule/schedule.h"

namespace grove {

class Workers;

struct DriverOptions {
  std::uint64_t seed = 1;
  LinkFaults faults;  ///< only for links that tolerate them (LinkKind::edge)
  int threads = 0;    ///< 0: as many as the process may use
  bool counts_traffic = false;
};

/// Drives the agents of one process through lock-step rounds: begin, activate, deliver, end. Who is
/// active is a function of the seed, and every agent receives its neighbours' messages in slot
/// order; therefore results do not depend on the number of threads or processes.
class RoundDriver {
 public:
  /// `own`: the agents of this process; `agents` are those, in order.
  RoundDriver(std::vector<std::unique_ptr<Agent>> agents, AgentRange own, const Graph& graph,
              Schedule schedule, const DriverOptions& options);
  ~RoundDriver();

  void begin_round();
  void activate_all();
  void activate(std::span<const std::uint32_t> positions);  ///< some own agents, in parallel
  /// Returns the message of an agent of another process; null if that agent was inactive.
  using RemoteMessage = std::function<const Message*(AgentId sender, AgentId receiver)>;
  void deliver(const RemoteMessage& remote = {});
  void end_round();

  Round round() const { return round_; }
  const std::vector<std::unique_ptr<Agent>>& agents() const { return agents_; }
  Agent& agent(AgentId id) const { return *agents_[id.value - own_.first]; }
  /// In the current round, of an own agent or a neighbour of one; none if it is inactive.
  const std::optional<Activation>& activation_of(AgentId agent) const;
  int threads() const;
  /// Messages to own agents, by edge; empty: not counted.
  std::vector<LinkTraffic> traffic() const;

  /// The states of the own agents with the messages on their way to them.
  std::vector<std::string> states() const;
  /// Continues after `round` from such states.
  Status restore(Round round, std::span<const std::string> states);

 private:
  /// A neighbour as a receiver sees it.
  struct Source {
    AgentId sender;
    std::size_t slot_at_sender;
    std::size_t watched;  ///< position of the sender in watched_
  };

  void find_sources(const Graph& graph);
  void find_edges(const Graph& graph);
  void deliver_to(std::size_t receiver, const RemoteMessage& remote);

  std::vector<std::unique_ptr<Agent>> agents_;
  AgentRange own_;
  Schedule schedule_;
  DelayedDelivery delivery_;
  std::unique_ptr<Workers> workers_;
  std::vector<std::size_t> first_source_;  ///< sources of own agent i: [first_source_[i], [i+1])
  std::vector<Source> sources_;            ///< in slot order of each receiver
  std::vector<LinkTraffic> received_;      ///< by source; empty: not counted
  std::vector<std::size_t> edge_of_source_;
  std::size_t edges_ = 0;
  std::vector<AgentId> watched_;                        ///< own agents and their neighbours, sorted
  std::vector<std::optional<Activation>> activations_;  ///< of watched_, in the current round
  Round round_ = 0;
};

}  // namespace grove
