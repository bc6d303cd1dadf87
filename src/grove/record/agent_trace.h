#pragma once

#include <cstddef>
#include <vector>

#include <nlohmann/json.hpp>

#include "grove/base/types.h"
#include "grove/network/graph.h"
#include "grove/runtime/runtime.h"

namespace grove {

/// All agents at one measured round.
struct AgentFrame {
  Round round = 0;
  std::vector<double> distance;  ///< by agent, rounded to four digits
  std::vector<bool> active;      ///< by agent; empty: not known
  bool operator==(const AgentFrame&) const = default;
};

/// What the view draws of single agents and links. Records have it only when it is asked for.
struct AgentTrace {
  std::vector<Edge> edges;           ///< of the graph, sorted
  bool from_optimum = false;         ///< distances are |x_i - x*|; otherwise |x_i - mean of x|
  std::vector<AgentFrame> frames;    ///< by round; the last measured round is always there
  std::vector<LinkTraffic> traffic;  ///< by edge, up to the last frame; empty: not counted

  bool operator==(const AgentTrace&) const = default;
};

/// Fills the frames of a trace. There are at most about `most_numbers` distances in it: beyond,
/// every second frame is dropped, and new ones are kept half as often.
class FrameKeeper {
 public:
  static constexpr std::size_t most_numbers = 400'000;

  void add(AgentFrame frame, std::vector<AgentFrame>& frames);

 private:
  std::size_t added_ = 0, stride_ = 1;
  bool last_is_extra_ = false;  ///< the last frame is kept until there is a newer one
};

/// The value with four decimal digits.
double four_digits(double value);

/// The key "agent_trace" of a record.
nlohmann::json to_json(const AgentTrace& trace);
AgentTrace agent_trace_from(const nlohmann::json& json);  ///< throws nlohmann::json::exception

}  // namespace grove
