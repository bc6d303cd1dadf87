#include "grove/runtime/machines.h"

#include <algorithm>
#include <cassert>

namespace grove {

Machines::Machines(std::vector<double> speeds, const Graph& graph,
                   std::span<const double> latencies, Index dimension)
    : speeds_(std::move(speeds)),
      latencies_(graph.agents()),
      dimension_(static_cast<double>(dimension)) {
  assert(speeds_.size() == graph.agents() && latencies.size() == graph.edges().size());
  for (std::uint32_t i = 0; i < graph.agents(); ++i) latencies_[i].resize(graph.degree(AgentId{i}));
  const auto slot_of = [&graph](AgentId at, AgentId of) {
    const auto all = graph.neighbours(at);
    return static_cast<std::size_t>(std::ranges::lower_bound(all, of) - all.begin());
  };
  for (std::size_t k = 0; k < latencies.size(); ++k) {
    const auto& [a, b] = graph.edges()[k];
    latencies_[a.value][slot_of(a, b)] = latencies_[b.value][slot_of(b, a)] = latencies[k];
  }
}

double Machines::operations(const Cost& cost) const {
  const double d = dimension_;
  return static_cast<double>(cost.gradient_samples) * 4 * d +
         static_cast<double>(cost.hessian_samples) * d * (d + 1) +
         static_cast<double>(cost.solves) * (d * d * d / 3 + 2 * d * d) +
         static_cast<double>(cost.vectors_sent) * 4 * d;
}

double Machines::work_seconds(AgentId agent, const Cost& before, const Cost& after) const {
  return (operations(after) - operations(before)) / (speeds_[agent.value] * reference_speed);
}

double Machines::longest_latency(AgentId agent) const {
  const auto& all = latencies_[agent.value];
  return all.empty() ? 0 : std::ranges::max(all);
}

}  // namespace grove
