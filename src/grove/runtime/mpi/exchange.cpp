#include "grove/runtime/mpi/exchange.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace grove::mpi {
namespace {

constexpr int excess_tag = 1, vectors_tag = 2;

bool has_interior_agents(const Graph& graph, int processes) {
  for (std::uint32_t i = 0; i < graph.agents(); ++i) {
    const int home = process_of(AgentId{i}, graph.agents(), processes);
    if (std::ranges::all_of(graph.neighbours(AgentId{i}), [&](AgentId other) {
          return process_of(other, graph.agents(), processes) == home;
        }))
      return true;
  }
  return false;
}

}  // namespace

Exchange::Exchange(MPI_Comm processes, const Graph& graph, Index dimension)
    : dimension_(static_cast<std::size_t>(dimension)) {
  int rank = 0, size = 0;
  MPI_Comm_rank(processes, &rank);
  MPI_Comm_size(processes, &size);
  overlaps_ = size > 1 && has_interior_agents(graph, size);
  links_ = find_process_links(graph, rank, size);
  lay_out(links_.outgoing, outgoing_);
  lay_out(links_.incoming, incoming_);
  spoke_.resize(incoming().size());
  heard_.resize(incoming().size());
  long_payloads_.resize(incoming().size());
  excess_.resize(links_.neighbours.size());
  const int degree = static_cast<int>(links_.neighbours.size());
  MPI_Dist_graph_create_adjacent(processes, degree, links_.neighbours.data(), MPI_UNWEIGHTED,
                                 degree, links_.neighbours.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &graph_comm_);
}

Exchange::~Exchange() {
  if (graph_comm_ != MPI_COMM_NULL) MPI_Comm_free(&graph_comm_);
}

void Exchange::lay_out(const ProcessLinkSide& side, Wire& wire) {
  wire.buffer.resize(side.links.size() * stride());
  wire.counts.resize(links_.neighbours.size());
  for (std::size_t k = 0; k < links_.neighbours.size(); ++k)
    wire.offsets.push_back(static_cast<int>(side.first[k] * stride()));
}

void Exchange::pack(const Active& active, const Speak& message_on) {
  for (std::size_t k = 0; k < links_.neighbours.size(); ++k) {
    double* words = outgoing_.buffer.data() + outgoing_.offsets[k];
    const double* const begin = words;
    excess_[k].clear();
    for (std::size_t l = links_.outgoing.first[k]; l < links_.outgoing.first[k + 1]; ++l) {
      const Link& link = links_.outgoing.links[l];
      if (!active(link.from)) continue;
      const Message message = message_on(link);
      const std::size_t length = message.payload.size(), inside = std::min(length, dimension_);
      words[0] = std::bit_cast<double>(message.sequence);
      words[1] = std::bit_cast<double>(static_cast<std::uint64_t>(length));
      std::copy_n(message.payload.begin(), inside, words + header_words);
      std::fill(words + header_words + inside, words + stride(), 0.0);
      excess_[k].insert(excess_[k].end(), message.payload.begin() + inside, message.payload.end());
      words += stride();
      ++vectors_sent_;
    }
    outgoing_.counts[k] = static_cast<int>(words - begin);
    bytes_sent_ += sizeof(double) * (outgoing_.counts[k] + excess_[k].size());
  }
  count_incoming(active);
}

/// Who works in a round is a pure function of the seed, so the receiver knows what will come.
void Exchange::count_incoming(const Active& active) {
  for (std::size_t k = 0; k < links_.neighbours.size(); ++k) {
    std::size_t words = 0;
    for (std::size_t l = links_.incoming.first[k]; l < links_.incoming.first[k + 1]; ++l) {
      spoke_[l] = active(links_.incoming.links[l].from);
      if (spoke_[l]) words += stride();
    }
    incoming_.counts[k] = static_cast<int>(words);
  }
}

void Exchange::begin() {
  send_excess();
  if (overlaps_) start_messages();
}

void Exchange::start_messages() {
  exchanging_.clear();
  for (std::size_t k = 0; k < links_.neighbours.size(); ++k)
    MPI_Irecv(incoming_.buffer.data() + incoming_.offsets[k], incoming_.counts[k], MPI_DOUBLE,
              links_.neighbours[k], vectors_tag, graph_comm_, &exchanging_.emplace_back());
  for (std::size_t k = 0; k < links_.neighbours.size(); ++k)
    MPI_Isend(outgoing_.buffer.data() + outgoing_.offsets[k], outgoing_.counts[k], MPI_DOUBLE,
              links_.neighbours[k], vectors_tag, graph_comm_, &exchanging_.emplace_back());
}

void Exchange::finish() {
  if (overlaps_)
    MPI_Waitall(static_cast<int>(exchanging_.size()), exchanging_.data(), MPI_STATUSES_IGNORE);
  else if (!links_.neighbours.empty())
    MPI_Neighbor_alltoallv(outgoing_.buffer.data(), outgoing_.counts.data(),
                           outgoing_.offsets.data(), MPI_DOUBLE, incoming_.buffer.data(),
                           incoming_.counts.data(), incoming_.offsets.data(), MPI_DOUBLE,
                           graph_comm_);
  unpack();
  MPI_Waitall(static_cast<int>(excess_requests_.size()), excess_requests_.data(),
              MPI_STATUSES_IGNORE);
}

void Exchange::send_excess() {
  excess_requests_.clear();
  for (std::size_t k = 0; k < links_.neighbours.size(); ++k) {
    if (excess_[k].empty()) continue;
    MPI_Isend(excess_[k].data(), static_cast<int>(excess_[k].size()), MPI_DOUBLE,
              links_.neighbours[k], excess_tag, graph_comm_, &excess_requests_.emplace_back());
  }
}

void Exchange::unpack() {
  for (std::size_t k = 0; k < links_.neighbours.size(); ++k) {
    const double* words = incoming_.buffer.data() + incoming_.offsets[k];
    bool long_ones = false;
    for (std::size_t l = links_.incoming.first[k]; l < links_.incoming.first[k + 1]; ++l) {
      if (!spoke_[l]) continue;
      const auto length = static_cast<std::size_t>(std::bit_cast<std::uint64_t>(words[1]));
      heard_[l] = {.from = links_.incoming.links[l].from,
                   .sequence = std::bit_cast<std::uint64_t>(words[0]),
                   .payload = {words + header_words, length}};
      long_ones = long_ones || length > dimension_;
      words += stride();
    }
    if (long_ones) receive_excess(k);
  }
}

/// Joins what came in the round's message with the rest that follows it.
void Exchange::receive_excess(std::size_t neighbour) {
  std::size_t total = 0;
  const auto excess_of = [&](std::size_t l) {
    return spoke_[l] && heard_[l].payload.size() > dimension_
               ? heard_[l].payload.size() - dimension_
               : 0;
  };
  for (std::size_t l = links_.incoming.first[neighbour]; l < links_.incoming.first[neighbour + 1];
       ++l)
    total += excess_of(l);
  std::vector<double> rest(total);
  MPI_Recv(rest.data(), static_cast<int>(total), MPI_DOUBLE, links_.neighbours[neighbour],
           excess_tag, graph_comm_, MPI_STATUS_IGNORE);
  auto next = rest.begin();
  for (std::size_t l = links_.incoming.first[neighbour]; l < links_.incoming.first[neighbour + 1];
       ++l) {
    const std::size_t excess = excess_of(l);
    if (excess == 0) continue;
    auto& whole = long_payloads_[l];
    whole.assign(heard_[l].payload.data(), heard_[l].payload.data() + dimension_);
    whole.insert(whole.end(), next, next + static_cast<std::ptrdiff_t>(excess));
    next += static_cast<std::ptrdiff_t>(excess);
    heard_[l].payload = whole;
  }
}

}  // namespace grove::mpi
