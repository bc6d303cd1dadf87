#include "grove/runtime/cluster.h"

#include <algorithm>

namespace grove {

AgentRange agents_of(std::size_t agents, int rank, int processes) {
  const auto begin_of = [&](std::size_t process) {
    return static_cast<std::uint32_t>(process * agents / static_cast<std::size_t>(processes));
  };
  const auto process = static_cast<std::size_t>(rank);
  return {begin_of(process), begin_of(process + 1)};
}

int process_of(AgentId agent, std::size_t agents, int processes) {
  // The last process whose block begins at or before the agent.
  const auto count = static_cast<std::size_t>(processes);
  return static_cast<int>(((agent.value + 1) * count - 1) / agents);
}

Status first_error(Cluster& cluster, const Status& own) {
  // The largest of -rank among the failed: the first failed process.
  const std::int64_t none = -cluster.size();
  const std::int64_t failed = -cluster.allreduce_max(own ? none : -cluster.rank());
  if (failed == cluster.size()) return success();
  Error error = own ? Error{} : own.error();
  cluster.broadcast(error.where, static_cast<int>(failed));
  cluster.broadcast(error.what, static_cast<int>(failed));
  return error;
}

}  // namespace grove
