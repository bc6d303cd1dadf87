#include "grove/network/graph_file.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "grove/base/file.h"
#include "grove/base/text.h"

namespace grove {
namespace {

/// One agent number of a graph file; whether such an agent exists is for Graph to say.
std::optional<AgentId> parse_agent(std::string_view word) {
  const auto number = parse_integer(word);
  if (!number || *number < 0 || *number > std::numeric_limits<std::uint32_t>::max())
    return std::nullopt;
  return AgentId{static_cast<std::uint32_t>(*number)};
}

struct EdgeLine {
  Edge edge;
  std::optional<double> weight;
  std::size_t line = 0;
};

/// The words of a line like ` 3  7 0.25`, separated by any blanks.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!(line = trim(line)).empty()) {
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

std::optional<EdgeLine> parse_line(std::string_view text, std::size_t line) {
  const auto words = words_of(text);
  if (words.size() != 2 && words.size() != 3) return std::nullopt;
  const auto first = parse_agent(words[0]), second = parse_agent(words[1]);
  if (!first || !second) return std::nullopt;
  EdgeLine result{.edge = {*first, *second}, .weight = std::nullopt, .line = line};
  if (words.size() == 2) return result;
  result.weight = parse_double(words[2]);
  if (!result.weight) return std::nullopt;
  return result;
}

Error error_at(const std::string& file, std::size_t line, std::string what) {
  return {fmt::format("{}:{}", file, line), std::move(what)};
}

/// The line after which the weights at an agent sum to more than one.
std::optional<Error> excess(const std::vector<EdgeLine>& lines, std::size_t agents,
                            const std::string& file) {
  constexpr double rounding = 1e-9;
  std::vector<double> sums(agents, 0);
  for (const EdgeLine& line : lines) {
    if (!(*line.weight > 0 && *line.weight <= 1))
      return error_at(
          file, line.line,
          fmt::format("the weight is {}; expected a number above 0 and at most 1", *line.weight));
    for (const AgentId agent : {line.edge.first, line.edge.second}) {
      sums[agent.value] += *line.weight;
      if (sums[agent.value] > 1 + rounding)
        return error_at(
            file, line.line,
            fmt::format("weights at agent {} sum to {:.12g} with this line; expected at "
                        "most 1, the rest being the agent's own weight",
                        agent.value, sums[agent.value]));
    }
  }
  return std::nullopt;
}

/// Weights in the order of the graph's edges.
Result<Graph> with_weights(Graph graph, std::vector<EdgeLine> lines, const std::string& file) {
  if (auto error = excess(lines, graph.agents(), file)) return *error;
  for (EdgeLine& line : lines)
    if (line.edge.first > line.edge.second) std::swap(line.edge.first, line.edge.second);
  std::ranges::sort(lines, {}, &EdgeLine::edge);
  std::vector<double> weights;
  weights.reserve(lines.size());
  for (const EdgeLine& line : lines) weights.push_back(*line.weight);
  return Graph::with_mixing(std::move(graph), std::move(weights), file);
}

}  // namespace

Result<Graph> parse_graph(std::string_view text, std::size_t agents, const std::string& file) {
  std::vector<EdgeLine> lines;
  std::size_t line_number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++line_number;
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const auto parsed = parse_line(line, line_number);
    if (!parsed)
      return error_at(
          file, line_number,
          fmt::format("expected two agent numbers `i j`, or `i j weight`, got `{}`", line));
    if (!lines.empty() && parsed->weight.has_value() != lines.front().weight.has_value())
      return error_at(file, line_number,
                      fmt::format("{} a weight, and line {} {}; expected one on every line, or on "
                                  "none",
                                  parsed->weight ? "has" : "lacks", lines.front().line,
                                  parsed->weight ? "lacks it" : "has one"));
    lines.push_back(*parsed);
  }
  std::vector<Edge> edges;
  std::vector<std::size_t> numbers;
  for (const EdgeLine& line : lines) {
    edges.push_back(line.edge);
    numbers.push_back(line.line);
  }
  auto graph = Graph::from_edges(agents, std::move(edges), file, numbers);
  if (!graph || lines.empty() || !lines.front().weight) return graph;
  return with_weights(std::move(*graph), std::move(lines), file);
}

Result<Graph> read_graph_file(const std::string& file, std::size_t agents) {
  const auto content = read_file(file);
  if (!content) return content.error();
  return parse_graph(*content, agents, file);
}

}  // namespace grove
