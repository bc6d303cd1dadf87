#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <mpi.h>

#include "grove/agent/message_codec.h"
#include "grove/runtime/mpi/process_links.h"

namespace grove::mpi {

/// The messages between the agents of different processes in a round: one MPI message between each
/// pair of processes that share a link, for every method. It contains the agents' messages one
/// after the other, and the receiver takes its size from the message itself.
class Exchange {
 public:
  using Link = ProcessLink;

  Exchange(MPI_Comm processes, const Graph& graph);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  using Active = std::function<bool(AgentId)>;  ///< known of every agent, by the schedule
  using MessageOn = std::function<Message(const Link&)>;

  /// Encodes and starts sending the messages of the active agents.
  void begin(const Active& active, const MessageOn& message_on);
  /// Returns when all messages of the round have arrived.
  void finish(const Active& active);

  /// The message that arrived in the round that finished; null if the sender was inactive.
  const Message* received(AgentId sender, AgentId receiver) const;

  std::uint64_t vectors_sent() const { return vectors_sent_; }
  std::uint64_t bytes_sent() const { return bytes_sent_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  ProcessLinks links_;
  std::vector<MessageBuffer> outgoing_, incoming_;  ///< by neighbour process
  std::vector<MPI_Request> sending_;
  std::vector<std::optional<Message>> received_;  ///< by incoming link; spans into incoming_
  std::uint64_t vectors_sent_ = 0, bytes_sent_ = 0;
};

}  // namespace grove::mpi
