#include "grove/runtime/runtime.h"

namespace grove {

Estimates estimates_of(std::span<const std::unique_ptr<Agent>> agents) {
  Estimates all;
  for (const auto& agent : agents) {
    all.x.push_back(agent->estimate());
    if (const Vector* theta = agent->regularized_estimate(); theta && !all.theta)
      all.theta = *theta;
  }
  return all;
}

std::vector<AgentReport> reports_of(std::span<const std::unique_ptr<Agent>> agents) {
  std::vector<AgentReport> all;
  for (const auto& agent : agents) {
    const auto events = agent->events();
    const AnswerCertificate* certificate = agent->certificate();
    all.push_back({agent->cost().broadcasts,
                   {events.begin(), events.end()},
                   certificate != nullptr ? std::optional(*certificate) : std::nullopt});
  }
  return all;
}

void ProcessReport::add(const ProcessReport& earlier) {
  activations += earlier.activations;
  compute_seconds += earlier.compute_seconds;
  exchange_seconds += earlier.exchange_seconds;
  wait_seconds += earlier.wait_seconds;
  vectors_sent += earlier.vectors_sent;
  bytes_sent += earlier.bytes_sent;
}

}  // namespace grove
