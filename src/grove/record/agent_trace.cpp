#include "grove/record/agent_trace.h"

#include <cmath>

namespace grove {
namespace {

using nlohmann::json;

/// JSON has no infinity: a diverged agent's distance is null, and reads as NaN.
json distances_json(const std::vector<double>& distances) {
  json row = json::array();
  for (const double value : distances)
    row.push_back(std::isfinite(value) ? json(value) : json(nullptr));
  return row;
}

AgentFrame frame_from(const json& from) {
  AgentFrame frame{.round = from.at("round").get<Round>()};
  for (const json& value : from.at("distance"))
    frame.distance.push_back(value.is_null() ? std::nan("") : value.get<double>());
  if (from.contains("active"))
    for (const char letter : from.at("active").get<std::string>())
      frame.active.push_back(letter == '1');
  return frame;
}

json frame_json(const AgentFrame& frame) {
  json row = {{"round", frame.round}, {"distance", distances_json(frame.distance)}};
  if (frame.active.empty()) return row;
  std::string active;
  for (const bool one : frame.active) active += one ? '1' : '0';
  row["active"] = active;
  return row;
}

}  // namespace

void FrameKeeper::add(AgentFrame frame, std::vector<AgentFrame>& frames) {
  if (last_is_extra_) frames.pop_back();
  last_is_extra_ = added_++ % stride_ != 0;
  const std::size_t agents = frame.distance.size();
  frames.push_back(std::move(frame));
  if (last_is_extra_ || frames.size() < 4 || frames.size() * agents <= most_numbers) return;
  std::vector<AgentFrame> kept;
  for (std::size_t k = 0; k < frames.size(); ++k)
    if (k % 2 == 0 || k + 1 == frames.size()) kept.push_back(std::move(frames[k]));
  last_is_extra_ = frames.size() % 2 == 0;
  frames = std::move(kept);
  stride_ *= 2;
}

double four_digits(double value) {
  constexpr int digits = 4;
  if (value == 0 || !std::isfinite(value)) return value;
  const int power = digits - 1 - static_cast<int>(std::floor(std::log10(std::abs(value))));
  // Powers of ten up to 22 are exact, so that the quotient is the double nearest to the decimal.
  const double scale = std::pow(10.0, std::abs(power));
  return power >= 0 ? std::round(value * scale) / scale : std::round(value / scale) * scale;
}

json to_json(const AgentTrace& trace) {
  json result = {
      {"edges", json::array()}, {"from_optimum", trace.from_optimum}, {"frames", json::array()}};
  for (const auto& [a, b] : trace.edges) result["edges"].push_back({a.value, b.value});
  for (const AgentFrame& frame : trace.frames) result["frames"].push_back(frame_json(frame));
  for (const LinkTraffic& link : trace.traffic) {
    result["bytes"].push_back(link.bytes);
    result["lost"].push_back(link.lost);
  }
  return result;
}

AgentTrace agent_trace_from(const json& from) {
  AgentTrace trace{.from_optimum = from.at("from_optimum")};
  for (const json& edge : from.at("edges"))
    trace.edges.emplace_back(AgentId{edge.at(0)}, AgentId{edge.at(1)});
  for (const json& frame : from.at("frames")) trace.frames.push_back(frame_from(frame));
  if (from.contains("bytes"))
    for (std::size_t k = 0; k < from.at("bytes").size(); ++k)
      trace.traffic.push_back({from.at("bytes").at(k), from.at("lost").at(k)});
  return trace;
}

}  // namespace grove
