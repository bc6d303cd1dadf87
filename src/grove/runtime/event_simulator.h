#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "grove/agent/agent.h"
#include "grove/base/random.h"
#include "grove/network/graph.h"
#include "grove/runtime/machines.h"
#include "grove/runtime/runtime.h"

namespace grove {

/// The network falls apart into `side` and the rest: messages between them are lost.
struct Cut {
  double from = 0, until = 0;  ///< virtual seconds
  std::vector<AgentId> side;
};

/// An agent dies and comes back with the state of its last checkpoint.
struct Crash {
  AgentId agent;
  double at = 0, down_for = 0;  ///< virtual seconds
};

/// Times are virtual seconds. Defaults: a perfect network.
struct EventOptions {
  std::uint64_t seed = 1;
  std::vector<double> speeds;        ///< local steps per second, by agent; empty: 1 everywhere
  double latency = 0.1;              ///< mean time of a message on its way
  std::optional<Machines> machines;  ///< if given, they determine both times instead
  double jitter = 0;          ///< latency varies uniformly by this share; above 0 messages overtake
  double loss_rate = 0;       ///< probability that a message is lost
  double duplicate_rate = 0;  ///< probability that it arrives twice
  double patience = 5;        ///< an agent that receives nothing works again after so long
  int checkpoint_every = 10;  ///< activations between checkpoints
  std::vector<Cut> cuts;
  std::vector<Crash> crashes;
  bool counts_traffic = false;
};

/// Free-running agents as events in virtual time: everyone works at its own pace, whenever it has
/// received something new, and nobody waits for anybody. Seeded and replayable; a run is a pure
/// function of its arguments. For agents with edge links.
class EventSimulator {
 public:
  EventSimulator(std::vector<std::unique_ptr<Agent>> agents, const Graph& graph,
                 std::vector<int> work_loads, EventOptions options);

  void run_until(double virtual_seconds);
  /// Plays the next event. The agent that finished an activation by it, if one did.
  std::optional<AgentId> play_one();

  double now() const { return now_; }
  const std::vector<std::unique_ptr<Agent>>& agents() const { return agents_; }
  std::uint64_t activations(AgentId agent) const { return states_[agent.value].activations; }
  const std::vector<LinkTraffic>& traffic() const { return traffic_; }  ///< by edge, if counted
  Cost cost() const;  ///< of all agents together; work lost in a crash is lost here too

 private:
  enum class Kind { start, finish, arrive, crash, recover };
  struct Event {
    double time;
    std::uint64_t order;  ///< ties break by the order of scheduling
    Kind kind;
    AgentId agent;
    std::uint64_t token = 0;  ///< start, finish: valid only while it equals the agent's own
    double duration = 0;      ///< crash: time until recovery
    std::size_t slot = 0;     ///< arrive: of the sender at the receiver
    std::shared_ptr<const StoredMessage> message;
    bool operator>(const Event& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };
  enum class Phase { idle, busy, down };
  struct State {
    Phase phase = Phase::idle;
    std::uint64_t token = 0;        ///< changes with every phase change
    std::uint64_t activations = 0;  ///< never rolled back: the sequence of messages
    std::vector<Event> inbox;       ///< what arrived while busy
    std::string checkpoint;
  };

  void schedule(Event event);
  bool handle(const Event& event);
  void start(AgentId agent);
  void finish(AgentId agent);
  void arrive(const Event& event);
  void crash(const Event& event);
  void recover(AgentId agent);
  void send_messages(AgentId sender);
  void send(AgentId sender, std::size_t slot);
  void count(AgentId sender, AgentId receiver, std::uint64_t bytes, bool lost);
  void enter(AgentId agent, Phase phase);
  void save_checkpoint(AgentId agent);
  bool cut_between(AgentId a, AgentId b) const;
  double draw(Purpose purpose, AgentId from, AgentId to, std::uint64_t number) const;

  std::vector<std::unique_ptr<Agent>> agents_;
  const Graph graph_;
  std::vector<int> work_loads_;
  EventOptions options_;
  std::vector<State> states_;
  std::vector<LinkTraffic> traffic_;  ///< empty: not counted
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t scheduled_ = 0;
  double now_ = 0;
  Workspace workspace_;
};

}  // namespace grove
