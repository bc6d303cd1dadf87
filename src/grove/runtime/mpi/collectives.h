#pragma once

#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <mpi.h>

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

/// The byte strings of all processes one after the other, by rank, in the first process.
std::vector<std::string> gather_at_first(MPI_Comm processes, const std::vector<std::string>& own);

// Of all agents, from those of each process in agent order.
Cost total_cost(MPI_Comm processes, std::span<const std::unique_ptr<Agent>> own);
Estimates all_estimates(MPI_Comm processes, std::span<const std::unique_ptr<Agent>> own);
std::vector<AgentReport> all_reports(MPI_Comm processes,
                                     std::span<const std::unique_ptr<Agent>> own);

}  // namespace grove::mpi
