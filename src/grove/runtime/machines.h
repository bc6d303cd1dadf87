#pragma once

#include <span>
#include <vector>

#include "grove/agent/cost.h"
#include "grove/network/graph.h"

namespace grove {

/// Simulated machines and the links between them: how long work and messages would take. Counted,
/// never measured, so the same on every run and with any number of threads. Operations are those of
/// dense data with d coefficients:
///
///     gradient of a sample   4 d            a product and an update, each a multiply-add per entry
///     Hessian of a sample    d (d + 1)      the lower half of a rank-one update
///     solving a system       d^3 / 3 + 2 d^2    Cholesky and two triangular systems
///     a vector on a link     4 d            its pull, and making the next one
class Machines {
 public:
  static constexpr double reference_speed = 1e9;  ///< operations per second of a machine of speed 1

  /// Speeds by agent, latencies in the order of graph.edges().
  Machines(std::vector<double> speeds, const Graph& graph, std::span<const double> latencies,
           Index dimension);

  /// What an agent computed between two moments of its own.
  double work_seconds(AgentId agent, const Cost& before, const Cost& after) const;
  double latency(AgentId agent, std::size_t slot) const { return latencies_[agent.value][slot]; }
  double longest_latency(AgentId agent) const;  ///< to a neighbour; 0 without any

 private:
  double operations(const Cost& cost) const;

  std::vector<double> speeds_;
  std::vector<std::vector<double>> latencies_;  ///< by agent and slot: the same at both ends
  double dimension_;
};

}  // namespace grove
