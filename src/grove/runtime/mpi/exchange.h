#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <mpi.h>

#include "grove/agent/message.h"
#include "grove/runtime/mpi/process_links.h"

namespace grove::mpi {

/// What one process tells its neighbours in a round: one message between each pair of processes
/// that share a link, by a neighbourhood collective on the graph of processes. Each d-vector on it
/// has a header of two 8-byte words, its sequence and its length; no length is agreed beforehand
/// but d, and what exceeds d follows in a second message.
class Exchange {
 public:
  static constexpr std::size_t header_words = 2;

  using Link = ProcessLink;

  Exchange(MPI_Comm processes, const Graph& graph, Index dimension);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// Links to agents of this process, by sender and then by receiver.
  std::span<const Link> incoming() const { return links_.incoming.links; }
  /// Whether some process has agents without links to other processes: work to hide waiting behind.
  bool overlaps() const { return overlaps_; }

  using Active = std::function<bool(AgentId)>;  ///< known of every agent, by the schedule
  using Speak = std::function<Message(const Link&)>;

  void pack(const Active& active, const Speak& message_on);
  void begin();   ///< after pack
  void finish();  ///< returns when all messages of the round are here

  /// What came on incoming()[k] in the round that finished; nothing if the sender rested.
  const Message* heard(std::size_t k) const { return spoke_[k] ? &heard_[k] : nullptr; }

  std::uint64_t vectors_sent() const { return vectors_sent_; }
  std::uint64_t bytes_sent() const { return bytes_sent_; }

 private:
  /// The memory of one direction.
  struct Wire {
    std::vector<double> buffer;
    std::vector<int> counts, offsets;  ///< in words, by neighbour process
  };

  void lay_out(const ProcessLinkSide& side, Wire& wire);
  void count_incoming(const Active& active);
  /// The collective as messages of its own, where there is work to do meanwhile: Open MPI makes a
  /// new schedule for every MPI_Ineighbor_alltoallv, 1 us more in a round of 3 (bench/mpi).
  void start_messages();
  void send_excess();
  void unpack();
  void receive_excess(std::size_t neighbour);
  std::size_t stride() const { return header_words + dimension_; }

  MPI_Comm graph_comm_ = MPI_COMM_NULL;
  std::size_t dimension_;
  bool overlaps_ = false;
  ProcessLinks links_;
  Wire outgoing_, incoming_;
  std::vector<MPI_Request> exchanging_;  ///< receives and sends of the round

  std::vector<char> spoke_;     ///< by incoming link
  std::vector<Message> heard_;  ///< by incoming link; payloads in a buffer below
  std::vector<std::vector<double>> long_payloads_;  ///< by incoming link, where longer than d
  std::vector<std::vector<double>> excess_;         ///< by neighbour process, being sent
  std::vector<MPI_Request> excess_requests_;
  std::uint64_t vectors_sent_ = 0, bytes_sent_ = 0;
};

}  // namespace grove::mpi
