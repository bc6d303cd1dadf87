#include "grove/record/record.h"

namespace grove {

std::string name_of(RunStatus status) {
  switch (status) {
    case RunStatus::converged:
      return "converged";
    case RunStatus::round_limit:
      return "round_limit";
    case RunStatus::diverged:
      return "diverged";
    case RunStatus::peer_lost:
      return "peer_lost";
    case RunStatus::interrupted:
      return "interrupted";
    case RunStatus::budget_spent:
      return "budget_spent";
  }
  return "";
}

std::optional<Round> rounds_to(const RunRecord& record, double level) {
  for (const TracePoint& point : record.trace)
    if (point.relative_error && *point.relative_error <= level) return point.round;
  return std::nullopt;
}

}  // namespace grove
