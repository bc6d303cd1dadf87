#pragma once

#include <vector>

#include "grove/network/graph.h"
#include "grove/runtime/cluster.h"

namespace grove::mpi {

/// A link whose ends live in different processes, in one direction.
struct ProcessLink {
  AgentId from, to;
  std::size_t slot_at_sender = 0;
  std::size_t slot_at_receiver = 0;
};

/// Links that leave or enter this process, grouped by the process at the other end.
struct ProcessLinkSide {
  std::vector<ProcessLink> links;
  std::vector<std::size_t> first;  ///< links with neighbour k: [first[k], first[k+1])
};

/// The links between this process and others. Both ends of a pair of processes list its links by
/// sender and then by receiver, so that neither needs to name them on the wire.
struct ProcessLinks {
  std::vector<int> neighbours;  ///< processes, sorted
  ProcessLinkSide outgoing, incoming;
};

ProcessLinks find_process_links(const Graph& graph, int rank, int processes);

}  // namespace grove::mpi
