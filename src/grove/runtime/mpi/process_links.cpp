#include "grove/runtime/mpi/process_links.h"

#include <algorithm>
#include <tuple>

namespace grove::mpi {
ProcessLinks find_process_links(const Graph& graph, int rank, int processes) {
  const AgentRange own = agents_of(graph.agents(), rank, processes);
  const auto home = [&](AgentId agent) { return process_of(agent, graph.agents(), processes); };
  ProcessLinks result;
  auto& [neighbours, outgoing, incoming] = result;
  for (std::uint32_t i = own.first; i < own.last; ++i)
    for (const AgentId other : graph.neighbours(AgentId{i})) {
      if (own.contains(other)) continue;
      const std::size_t here = graph.slot_of(AgentId{i}, other);
      const std::size_t there = graph.slot_of(other, AgentId{i});
      outgoing.links.push_back({AgentId{i}, other, here, there});
      incoming.links.push_back({other, AgentId{i}, there, here});
      neighbours.push_back(home(other));
    }
  std::ranges::sort(neighbours);
  neighbours.erase(std::unique(neighbours.begin(), neighbours.end()), neighbours.end());
  // Blocks of agents grow with the rank, so an order by sender is also one by process.
  std::ranges::sort(incoming.links, {},
                    [](const ProcessLink& link) { return std::pair(link.from, link.to); });
  std::ranges::sort(outgoing.links, {}, [&](const ProcessLink& link) {
    return std::tuple(home(link.to), link.from, link.to);
  });
  for (const int neighbour : neighbours) {
    const auto first_with = [&](const auto& links, const auto& far_end) {
      return static_cast<std::size_t>(std::ranges::lower_bound(links, neighbour, {}, far_end) -
                                      links.begin());
    };
    outgoing.first.push_back(
        first_with(outgoing.links, [&](const ProcessLink& link) { return home(link.to); }));
    incoming.first.push_back(
        first_with(incoming.links, [&](const ProcessLink& link) { return home(link.from); }));
  }
  outgoing.first.push_back(outgoing.links.size());
  incoming.first.push_back(incoming.links.size());
  return result;
}

}  // namespace grove::mpi
