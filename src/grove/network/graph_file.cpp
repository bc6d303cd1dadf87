#include "grove/network/graph_file.h"

#include <limits>
#include <optional>

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

/// The two agents of a line like ` 3 7`, separated by any blanks.
std::optional<Edge> parse_edge(std::string_view line) {
  const std::size_t gap = line.find_first_of(" \t");
  if (gap == std::string_view::npos) return std::nullopt;
  const auto first = parse_agent(line.substr(0, gap)), second = parse_agent(trim(line.substr(gap)));
  if (!first || !second) return std::nullopt;
  return Edge{*first, *second};
}

}  // namespace

Result<Graph> parse_graph(std::string_view text, std::size_t agents, const std::string& file) {
  std::vector<Edge> edges;
  std::vector<std::size_t> lines;
  std::size_t line_number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++line_number;
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const auto parsed = parse_edge(line);
    if (!parsed)
      return Error{fmt::format("{}:{}", file, line_number),
                   fmt::format("expected two agent numbers `i j`, got `{}`", line)};
    edges.push_back(*parsed);
    lines.push_back(line_number);
  }
  return Graph::from_edges(agents, std::move(edges), file, lines);
}

Result<Graph> read_graph_file(const std::string& file, std::size_t agents) {
  const auto content = read_file(file);
  if (!content) return content.error();
  return parse_graph(*content, agents, file);
}

}  // namespace grove
