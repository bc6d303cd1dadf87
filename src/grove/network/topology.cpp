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
  std::string_view name;
  std::vector<Edge> (*edges)(std::size_t agents);
};
constexpr std::array shapes = {Shape{"ring", ring_edges}, Shape{"path", path_edges},
                               Shape{"star", star_edges}, Shape{"grid", grid_edges},
                               Shape{"complete", complete_edges}};

/// A topology that is drawn, with one number that makes it denser.
struct RandomFamily {
  std::string_view name;
  std::string_view number;  ///< what the number is called
  double largest;
  double (*link_chance)(double number);  ///< that two agents are linked, away from the boundary
  double (*sufficient)(double agents);   ///< a number with which connected draws are common
  std::vector<Edge> (*draw)(std::size_t agents, double number, KeyedRandom& random);
};
constexpr std::array families = {
    RandomFamily{"erdos-renyi", "probability", 1.0, [](double probability) { return probability; },
                 [](double agents) { return std::min(1.0, 1.1 * std::log(agents) / agents); },
                 erdos_renyi_edges},
    RandomFamily{
        "geometric", "radius", std::numbers::sqrt2,
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

Result<Graph> make_random(const RandomFamily& family, std::string_view text, std::size_t agents,
                          std::uint64_t seed) {
  const double number = parse_double(text).value_or(std::numeric_limits<double>::quiet_NaN());
  if (!(number > 0 && number <= family.largest))
    return graph_error(
        fmt::format("expected {}:NUMBER with a {} above 0 and at most {:.4g}, got `{}`",
                    family.name, family.number, family.largest, text));
  return draw_connected(family, number, agents, seed);
}

Error unknown_topology(const std::string& description, std::string_view name) {
  std::vector<std::string> known;
  known.reserve(families.size() + shapes.size());
  for (const RandomFamily& family : families) known.emplace_back(family.name);
  for (const Shape& shape : shapes) known.emplace_back(shape.name);
  const auto similar = closest(name, known);
  return graph_error(
      fmt::format("`{}` is neither a topology nor a file{}; expected one of {}, or a "
                  "file with `i j` per line",
                  description, similar ? fmt::format(" (did you mean `{}`?)", *similar) : "",
                  fmt::join(known, ", ")));
}

}  // namespace

Result<Graph> make_graph(const std::string& description, std::size_t agents, std::uint64_t seed) {
  if (agents == 0) return Error{"--agents", "expected at least one agent"};
  const std::size_t colon = description.find(':');
  const std::string_view name = std::string_view(description).substr(0, colon);
  const std::string_view rest =
      colon == std::string::npos ? "" : std::string_view(description).substr(colon + 1);
  for (const RandomFamily& family : families)
    if (name == family.name) return make_random(family, rest, agents, seed);
  for (const Shape& shape : shapes) {
    if (name != shape.name) continue;
    if (colon != std::string::npos)
      return graph_error(fmt::format("{} takes no number, got `{}`", name, description));
    return Graph::from_edges(agents, shape.edges(agents), "--graph");
  }
  std::error_code unreadable;  // a name too long for a file is no file either
  if (!std::filesystem::exists(description, unreadable)) return unknown_topology(description, name);
  return read_graph_file(description, agents);
}

}  // namespace grove
