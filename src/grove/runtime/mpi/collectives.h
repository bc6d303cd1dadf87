#pragma once

#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <mpi.h>

#include "grove/agent/message_codec.h"
#include "grove/runtime/runtime.h"

namespace grove::mpi {

int rank_in(MPI_Comm processes);
int size_of(MPI_Comm processes);

/// The values of all processes one after the other, by rank; they may differ in number.
std::vector<double> gather(MPI_Comm processes, std::span<const double> own);

/// One plain value of every process, by rank.
template <class T>
requires(std::is_trivially_copyable_v<T>&& std::is_class_v<T>) std::vector<T> gather(
    MPI_Comm processes, const T& own) {
  std::vector<T> all(static_cast<std::size_t>(size_of(processes)));
  MPI_Allgather(&own, sizeof(T), MPI_BYTE, all.data(), sizeof(T), MPI_BYTE, processes);
  return all;
}

/// Starts sending the messages of the buffer, which must stay as it is until the request completes.
void send(const MessageBuffer& buffer, int to, int tag, MPI_Comm comm, MPI_Request& request);
/// The same; the request completes only when the receiver has taken the messages.
void send_synchronously(const MessageBuffer& buffer, int to, int tag, MPI_Comm comm,
                        MPI_Request& request);
/// Waits for a message and takes its size from it.
void receive(int from, int tag, MPI_Comm comm, MessageBuffer& buffer);
/// Does not wait; false if there is no message.
bool receive_if_any(int from, int tag, MPI_Comm comm, MessageBuffer& buffer);

/// The byte strings of all processes one after the other, by rank, in the first process.
std::vector<std::string> gather_at_first(MPI_Comm processes, const std::vector<std::string>& own);

// Of all agents, from those of each process in agent order.
Cost total_cost(MPI_Comm processes, std::span<const std::unique_ptr<Agent>> own);
Estimates all_estimates(MPI_Comm processes, std::span<const std::unique_ptr<Agent>> own);
std::vector<AgentReport> all_reports(MPI_Comm processes,
                                     std::span<const std::unique_ptr<Agent>> own);

}  // namespace grove::mpi
