#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "grove/agent/agent.h"

namespace grove {

/// The models of all agents at one moment.
struct Estimates {
  std::vector<Vector> x;        ///< x_i, by agent
  std::optional<Vector> theta;  ///< where a method has one
};

Estimates estimates_of(std::span<const std::unique_ptr<Agent>> agents);

/// What one agent did in a run, beyond its estimate.
struct AgentReport {
  std::uint64_t broadcasts = 0;                  ///< activations that sent
  std::vector<AgentEvent> events;                ///< in order
  std::optional<AnswerCertificate> certificate;  ///< of its estimate
};

std::vector<AgentReport> reports_of(std::span<const std::unique_ptr<Agent>> agents);

/// The messages of one link so far, in both directions.
struct LinkTraffic {
  std::uint64_t bytes = 0;  ///< payload of all messages that were sent
  std::uint64_t lost = 0;   ///< messages that never arrive
  bool operator==(const LinkTraffic&) const = default;
};

/// What one process of a run did with its time and its wires.
struct ProcessReport {
  std::uint64_t agents = 0;
  std::uint64_t threads = 0;
  std::uint64_t activations = 0;   ///< of its agents
  double compute_seconds = 0;      ///< local steps of its agents
  double exchange_seconds = 0;     ///< packing, handing over and bookkeeping
  double wait_seconds = 0;         ///< inside the message layer
  std::uint64_t vectors_sent = 0;  ///< to agents of other processes
  std::uint64_t bytes_sent = 0;    ///< of those vectors, with their headers

  /// What was done before, in an earlier part of the same run.
  void add(const ProcessReport& earlier);
};

/// Where agents run in lock-step rounds. In a run of several processes every call but round() is
/// collective: all processes make the same calls in the same order.
class Runtime {
 public:
  virtual ~Runtime() = default;

  virtual void advance() = 0;  ///< plays one round
  virtual Round round() const = 0;

  // The whole network, known to every process.
  virtual std::size_t active() const = 0;  ///< agents that worked in the last round
  virtual Cost cost() const = 0;
  virtual Estimates estimates() const = 0;
  virtual std::vector<AgentReport> agent_reports() const = 0;  ///< by agent
  /// Whether an agent worked in the last round, by agent; empty: not known.
  virtual std::vector<bool> active_agents() const { return {}; }
  /// By edge of the graph; empty: not counted.
  virtual std::vector<LinkTraffic> traffic() const { return {}; }

  /// Every agent's state with the messages on their way to it, by agent. Complete in the first
  /// process only.
  virtual std::vector<std::string> states() const = 0;

  /// Goes on after `round` from the states of all agents.
  virtual Status restore(Round round, std::span<const std::string> states) = 0;

  /// How long the last round would have taken on simulated machines; nothing without any.
  virtual std::optional<double> round_seconds() const { return std::nullopt; }

  /// By rank; empty where all agents live in one process.
  virtual std::vector<ProcessReport> reports() const { return {}; }
};

}  // namespace grove
