#include "grove/runtime/mpi/exchange.h"

#include <algorithm>
#include <cassert>

#include "grove/runtime/mpi/collectives.h"

namespace grove::mpi {
namespace {

constexpr int round_tag = 1;

}  // namespace

Exchange::Exchange(MPI_Comm processes, const Graph& graph)
    : links_(find_process_links(graph, rank_in(processes), size_of(processes))),
      outgoing_(links_.neighbours.size()),
      incoming_(links_.neighbours.size()),
      received_(links_.incoming.links.size()) {
  MPI_Comm_dup(processes, &comm_);
}

Exchange::~Exchange() {
  if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
}

void Exchange::begin(const Active& active, const MessageOn& message_on) {
  sending_.clear();
  for (std::size_t k = 0; k < links_.neighbours.size(); ++k) {
    MessageBuffer& buffer = outgoing_[k];
    buffer.clear();
    for (std::size_t l = links_.outgoing.first[k]; l < links_.outgoing.first[k + 1]; ++l) {
      const Link& link = links_.outgoing.links[l];
      if (!active(link.from)) continue;
      buffer.append(message_on(link));
      ++vectors_sent_;
    }
    if (buffer.size() == 0) continue;
    bytes_sent_ += buffer.size();
    send(buffer, links_.neighbours[k], round_tag, comm_, sending_.emplace_back());
  }
}

/// Who is active is a function of the seed, so that a receiver knows from whom a message comes. A
/// neighbour may be a round ahead; MPI keeps the messages between two processes in order.
void Exchange::finish(const Active& active) {
  for (std::size_t k = 0; k < links_.neighbours.size(); ++k) {
    const std::size_t first = links_.incoming.first[k], last = links_.incoming.first[k + 1];
    const auto sends = [&](std::size_t l) { return active(links_.incoming.links[l].from); };
    bool expected = false;
    for (std::size_t l = first; l < last; ++l) expected = expected || sends(l);
    if (expected) receive(links_.neighbours[k], round_tag, comm_, incoming_[k]);
    MessageBuffer::Reader reader(incoming_[k]);
    for (std::size_t l = first; l < last; ++l) {
      received_[l].reset();
      if (!sends(l)) continue;
      received_[l] = reader.next();
      assert(received_[l] && received_[l]->sender == links_.incoming.links[l].from);
    }
  }
  MPI_Waitall(static_cast<int>(sending_.size()), sending_.data(), MPI_STATUSES_IGNORE);
}

const Message* Exchange::received(AgentId sender, AgentId receiver) const {
  const auto& links = links_.incoming.links;
  const auto at =
      std::ranges::lower_bound(links, std::pair(sender, receiver), {},
                               [](const Link& link) { return std::pair(link.from, link.to); });
  const auto& message = received_[static_cast<std::size_t>(at - links.begin())];
  return message ? &*message : nullptr;
}

}  // namespace grove::mpi
