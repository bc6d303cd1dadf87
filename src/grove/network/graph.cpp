#include "grove/network/graph.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace grove {
namespace {

/// Where edge number `index` stands: `file:line`, or the source alone.
std::string location(const std::string& source, std::span<const std::size_t> lines,
                     std::size_t index) {
  return lines.empty() ? source : fmt::format("{}:{}", source, lines[index]);
}

std::optional<std::string> edge_fault(const Edge& edge, std::size_t agents) {
  const auto [first, second] = edge;
  if (second.value >= agents)
    return fmt::format("agent {} is unknown, expected agents 0 to {}", second.value, agents - 1);
  if (first == second)
    return fmt::format("agent {} is linked to itself, expected two different agents", first.value);
  return std::nullopt;
}

/// A row of a stochastic matrix sums to one, but for rounding of decimal weights.
constexpr double row_rounding = 1e-9;

/// Whether agents fall into two sets with every edge between them.
bool is_bipartite(const Graph& graph) {
  std::vector<int> side(graph.agents(), -1);
  std::vector<AgentId> frontier{AgentId{0}};
  side[0] = 0;
  while (!frontier.empty()) {
    const AgentId agent = frontier.back();
    frontier.pop_back();
    for (const AgentId neighbour : graph.neighbours(agent)) {
      if (side[neighbour.value] == side[agent.value]) return false;
      if (side[neighbour.value] >= 0) continue;
      side[neighbour.value] = 1 - side[agent.value];
      frontier.push_back(neighbour);
    }
  }
  return true;
}

/// `edges` in their given order, `repeated` one that occurs at least twice among them.
Error repeated_edge(const Edge& repeated, std::span<const Edge> edges, const std::string& source,
                    std::span<const std::size_t> lines) {
  const auto earlier = std::ranges::find(edges, repeated);
  const auto later = std::find(earlier + 1, edges.end(), repeated);
  const std::string also =
      lines.empty() ? "" : fmt::format(" (first on line {})", lines[earlier - edges.begin()]);
  return Error{location(source, lines, static_cast<std::size_t>(later - edges.begin())),
               fmt::format("edge {} {} is given twice{}; an edge joins both ways, expected it once",
                           repeated.first.value, repeated.second.value, also)};
}

/// The lowest agent that no path from agent 0 leads to.
std::optional<AgentId> first_unreachable(const Graph& graph) {
  std::vector<bool> reached(graph.agents(), false);
  std::vector<AgentId> frontier{AgentId{0}};
  reached[0] = true;
  while (!frontier.empty()) {
    const AgentId agent = frontier.back();
    frontier.pop_back();
    for (const AgentId neighbour : graph.neighbours(agent)) {
      if (reached[neighbour.value]) continue;
      reached[neighbour.value] = true;
      frontier.push_back(neighbour);
    }
  }
  const auto unreached = std::ranges::find(reached, false);
  if (unreached == reached.end()) return std::nullopt;
  return AgentId{static_cast<std::uint32_t>(unreached - reached.begin())};
}

}  // namespace

Result<Graph> Graph::from_edges(std::size_t agents, std::vector<Edge> edges, std::string source,
                                std::span<const std::size_t> lines) {
  assert(agents > 0 && (lines.empty() || lines.size() == edges.size()));
  for (std::size_t index = 0; index < edges.size(); ++index) {
    if (edges[index].first > edges[index].second)
      std::swap(edges[index].first, edges[index].second);
    if (const auto fault = edge_fault(edges[index], agents))
      return Error{location(source, lines, index), *fault};
  }
  std::vector<Edge> sorted = edges;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    return repeated_edge(*twice, edges, source, lines);

  Graph graph(agents, std::move(sorted));
  if (const auto lost = first_unreachable(graph))
    return Error{std::move(source),
                 fmt::format("agent {} cannot be reached from agent 0, expected a connected graph",
                             lost->value)};
  return graph;
}

Graph::Graph(std::size_t agents, std::vector<Edge> sorted_edges)
    : edges_(std::move(sorted_edges)), offsets_(agents + 1, 0), adjacent_(2 * edges_.size()) {
  for (const auto& [first, second] : edges_) {
    ++offsets_[first.value + 1];
    ++offsets_[second.value + 1];
  }
  for (std::size_t agent = 0; agent < agents; ++agent) offsets_[agent + 1] += offsets_[agent];
  // Lower neighbours first, then higher ones, each in the order of the sorted edges: sorted lists.
  std::vector<std::size_t> next(offsets_.begin(), offsets_.end() - 1);
  for (const auto& [first, second] : edges_) adjacent_[next[second.value]++] = first;
  for (const auto& [first, second] : edges_) adjacent_[next[first.value]++] = second;
}

Result<Graph> Graph::with_mixing(Graph graph, std::vector<double> weights, std::string source) {
  assert(weights.size() == graph.edges_.size());
  std::vector<double> sums(graph.agents(), 0);
  for (std::size_t k = 0; k < weights.size(); ++k) {
    const auto [first, second] = graph.edges_[k];
    if (!(weights[k] > 0 && weights[k] <= 1))
      return Error{std::move(source), fmt::format("edge {} {} has the weight {}; expected a number "
                                                  "above 0 and at most 1",
                                                  first.value, second.value, weights[k])};
    for (const AgentId agent : {first, second}) sums[agent.value] += weights[k];
  }
  bool keeps_a_share = false;
  for (std::size_t agent = 0; agent < sums.size(); ++agent) {
    if (sums[agent] > 1 + row_rounding)
      return Error{std::move(source),
                   fmt::format("weights at agent {} sum to {:.12g}; expected at most 1, the rest "
                               "being the agent's own weight",
                               agent, sums[agent])};
    keeps_a_share |= sums[agent] < 1 - row_rounding;
  }
  // A connected symmetric stochastic matrix has the eigenvalue -1 exactly where its graph is
  // bipartite and no agent has a weight of its own: mixing would swap the two sides for ever.
  if (graph.agents() > 1 && !keeps_a_share && is_bipartite(graph))
    return Error{std::move(source),
                 "the mixing matrix has the eigenvalue -1: agents fall into two sides, and none "
                 "keeps a weight of its own; expected smaller weights at one agent at least"};
  graph.mixing_ = std::move(weights);
  return graph;
}

std::span<const AgentId> Graph::neighbours(AgentId agent) const {
  assert(agent.value < agents());
  return std::span(adjacent_).subspan(offsets_[agent.value],
                                      offsets_[agent.value + 1] - offsets_[agent.value]);
}

}  // namespace grove
