#include <cstddef>
#include <cstdint>

#include "grove/network/graph_file.h"
#include "require.h"

/// Any text gives an error or a simple graph that both ends of an edge know of, all connected.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size < 1) return 0;
  const std::size_t agents = bytes[0] % 16 + 1;
  const std::string_view text(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  const auto graph = grove::parse_graph(text, agents, "text");
  if (!graph) return 0;
  if (graph->agents() != agents) grove::require_no_flaw("wrong number of agents");
  if (graph->edges().size() + 1 < agents) grove::require_no_flaw("too few edges to be connected");
  std::size_t ends = 0;
  for (std::uint32_t i = 0; i < agents; ++i) ends += graph->degree({i});
  if (ends != 2 * graph->edges().size()) grove::require_no_flaw("an edge with one end");
  for (const auto& [first, second] : graph->edges())
    if (!(first < second) || second.value >= agents)
      grove::require_no_flaw("a self-loop or an unknown agent");
  return 0;
}
