#include "grove/network/topology.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numbers>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "grove/base/text.h"
#include "grove/network/graph_file.h"
#include "grove/network/random_graph.h"

namespace grove {
namespace {

Error graph_error(std::string what) { return Error{"--graph", std::move(what)}; }

Edge edge(std::size_t first, std::size_t second) {
  return {AgentId{static_cast<std::uint32_t>(first)}, AgentId{static_cast<std::uint32_t>(second)}};
}

std::vector<Edge> path_edges(std::size_t agents) {
  std::vector<Edge> edges;
  for (std::size_t agent = 0; agent + 1 < agents; ++agent) edges.push_back(edge(agent, agent + 1));
  return edges;
}

std::vector<Edge> ring_edges(std::size_t agents) {
  std::vector<Edge> edges = path_edges(agents);
  if (agents > 2) edges.push_back(edge(0, agents - 1));
  return edges;
}

std::vector<Edge> star_edges(std::size_t agents) {
  std::vector<Edge> edges;
  for (std::size_t agent = 1; agent < agents; ++agent) edges.push_back(edge(0, agent));
  return edges;
}

std::vector<Edge> grid_edges(std::size_t agents) {
  const auto columns = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(agents))));
  std::vector<Edge> edges;
  for (std::size_t agent = 0; agent < agents; ++agent) {
    const bool last_column = agent % columns + 1 == columns;
    if (!last_column && agent + 1 < agents) edges.push_back(edge(agent, agent + 1));
    if (agent + columns < agents) edges.push_back(edge(agent, agent + columns));
  }
  return edges;
}

std::vector<Edge> complete_edges(std::size_t agents) {
  std::vector<Edge> edges;
  edges.reserve(agents * (agents - 1) / 2);
  for (std::size_t second = 1; second < agents; ++second)
    for (std::size_t first = 0; first < second; ++first) edges.push_back(edge(first, second));
  return edges;
}

/// A topology that the number of agents determines.
struct Shape {
  const char* name;
  std::vector<Edge> (*edges)(std::size_t agents);
};
constexpr std::array shapes = {Shape{"ring", ring_edges}, Shape{"path", path_edges},
                               Shape{"star", star_edges}, Shape{"grid", grid_edges},
                               Shape{"complete", complete_edges}};

/// Every edge is kept at both its ends and in a list: beyond, a graph takes gigabytes.
constexpr double most_edges = 5e7;

std::optional<Error> too_many_edges(std::string_view text, std::size_t agents, double edges) {
  if (edges <= most_edges) return std::nullopt;
  return graph_error(
      fmt::format("{} of {} agents has about {:.2g} edges; expected at most {:.0g}, "
                  "with fewer agents or a sparser graph",
                  text, agents, edges, most_edges));
}

/// A topology that is drawn, with one number that makes it denser.
struct RandomFamily {
  std::string_view name;
  std::string_view number;  ///< what the number is called
  std::string_view letter;  ///< what stands for it in help
  double largest;
  double (*link_chance)(double number);  ///< that two agents are linked, away from the boundary
  double (*sufficient)(double agents);   ///< a number with which connected draws are common
  std::vector<Edge> (*draw)(std::size_t agents, double number, KeyedRandom& random);
};
constexpr std::array families = {
    RandomFamily{"erdos-renyi", "probability", "P", 1.0,
                 [](double probability) { return probability; },
                 [](double agents) { return std::min(1.0, 1.1 * std::log(agents) / agents); },
                 erdos_renyi_edges},
    RandomFamily{
        "geometric", "radius", "R", std::numbers::sqrt2,
        [](double radius) { return std::min(1.0, std::numbers::pi * radius * radius); },
        [](double agents) { return std::sqrt(2 * std::log(agents) / (std::numbers::pi * agents)); },
        geometric_edges}};

Result<Graph> draw_connected(const RandomFamily& family, double number, std::size_t agents,
                             std::uint64_t seed) {
  constexpr std::uint64_t max_draws = 1000;
  // With 20 isolated agents expected, all 1000 draws together succeed with probability 2e-6.
  constexpr double hopeless = 20;
  const auto n = static_cast<double>(agents);
  const double isolated = n * std::pow(1 - family.link_chance(number), n - 1);
  for (std::uint64_t draw = 0; draw < max_draws && isolated < hopeless; ++draw) {
    KeyedRandom random(RandomKey{.seed = seed, .purpose = Purpose::graph, .round = draw});
    auto graph = Graph::from_edges(agents, family.draw(agents, number, random), "--graph");
    if (graph) return graph;
  }
  return graph_error(
      fmt::format("{}:{} does not give a connected graph of {} agents, expected a larger {}, for "
                  "example {:.3g}",
                  family.name, number, agents, family.number, family.sufficient(n)));
}

Result<Graph> make_random(const RandomFamily& family, const TopologyRequest& request) {
  const double number =
      parse_double(request.arguments).value_or(std::numeric_limits<double>::quiet_NaN());
  if (!(number > 0 && number <= family.largest))
    return graph_error(
        fmt::format("expected {}:NUMBER with a {} above 0 and at most {:.4g}, got `{}`",
                    family.name, family.number, family.largest, request.arguments));
  const auto n = static_cast<double>(request.agents);
  if (auto error = too_many_edges(fmt::format("{}:{}", family.name, number), request.agents,
                                  n * (n - 1) / 2 * family.link_chance(number)))
    return *error;
  return draw_connected(family, number, request.agents, request.seed);
}

Result<Graph> make_shape(const Shape& shape, const TopologyRequest& request) {
  if (!request.arguments.empty())
    return graph_error(
        fmt::format("{0} takes no number, got `{0}:{1}`", shape.name, request.arguments));
  const auto n = static_cast<double>(request.agents);
  const double edges = shape.edges == complete_edges ? n * (n - 1) / 2 : 2 * n;
  if (auto error = too_many_edges(shape.name, request.agents, edges)) return *error;
  return Graph::from_edges(request.agents, shape.edges(request.agents), "--graph");
}

Error unknown_topology(std::string_view text, std::span<const Topology> topologies) {
  std::vector<std::string> known;
  known.reserve(topologies.size());
  for (const Topology& topology : topologies) known.push_back(topology.name);
  const auto similar = closest(text.substr(0, text.find(':')), known);
  return graph_error(fmt::format(
      "`{}` is neither a topology nor a file{}; expected one of {}, or a "
      "file with `i j` or `i j weight` per line",
      text, similar ? fmt::format(" (did you mean `{}`?)", *similar) : "", fmt::join(known, ", ")));
}

}  // namespace

std::vector<Topology> built_in_topologies() {
  std::vector<Topology> topologies;
  for (const RandomFamily& family : families)
    topologies.push_back(
        {std::string(family.name), fmt::format("{}:{}", family.name, family.letter),
         [&family](const TopologyRequest& request) { return make_random(family, request); }});
  for (const Shape& shape : shapes)
    topologies.push_back({shape.name, shape.name, [&shape](const TopologyRequest& request) {
                            return make_shape(shape, request);
                          }});
  return topologies;
}

Result<GraphChoice> GraphChoice::parse(std::string_view text) {
  return parse(text, built_in_topologies());
}

Result<GraphChoice> GraphChoice::parse(std::string_view text,
                                       std::span<const Topology> topologies) {
  const auto found = std::ranges::find(topologies, text.substr(0, text.find(':')), &Topology::name);
  if (found != topologies.end()) return GraphChoice{std::string(text), *found};
  std::error_code unreadable;  // a name too long for a file is no file either
  if (!std::filesystem::exists(text, unreadable)) return unknown_topology(text, topologies);
  return GraphChoice{std::string(text), std::nullopt};
}

Result<Graph> make_graph(const GraphSpec& spec, std::size_t agents, std::uint64_t seed) {
  if (agents == 0) return Error{"--agents", "expected at least one agent"};
  if (!spec.meaning()) return spec.meaning().error();
  const GraphChoice& choice = *spec.meaning();
  if (!choice.topology) return read_graph_file(choice.text, agents);
  const std::size_t colon = std::min(choice.text.find(':'), choice.text.size());
  const std::string_view rest = std::string_view(choice.text).substr(colon);
  return choice.topology->make(
      {.arguments = rest.empty() ? rest : rest.substr(1), .agents = agents, .seed = seed});
}

}  // namespace grove
