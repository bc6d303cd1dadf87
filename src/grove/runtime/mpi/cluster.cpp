#include "grove/runtime/mpi/cluster.h"

#include <algorithm>
#include <cstdlib>

#include <mpi.h>
#include <oneapi/tbb/info.h>
#include <unistd.h>

#include "grove/runtime/mpi/async_run.h"
#include "grove/runtime/mpi/collectives.h"
#include "grove/runtime/mpi/lock_step.h"

namespace grove::mpi {
namespace {

/// The cores of this machine shared among its processes, but no more than this one may use.
int fair_threads(MPI_Comm processes) {
  MPI_Comm on_this_machine = MPI_COMM_NULL;
  MPI_Comm_split_type(processes, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &on_this_machine);
  const int neighbours = size_of(on_this_machine);
  MPI_Comm_free(&on_this_machine);
  const int cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  return std::clamp(cores / neighbours, 1, tbb::info::default_concurrency());
}

class MpiCluster final : public Cluster {
 public:
  MpiCluster() { MPI_Comm_dup(MPI_COMM_WORLD, &processes_); }
  ~MpiCluster() override { MPI_Comm_free(&processes_); }

  int rank() const override { return rank_in(processes_); }
  int size() const override { return size_of(processes_); }

  std::int64_t allreduce_max(std::int64_t own) override {
    std::int64_t result = own;
    MPI_Allreduce(&own, &result, 1, MPI_INT64_T, MPI_MAX, processes_);
    return result;
  }

  void broadcast(std::string& bytes, int from) override {
    std::uint64_t count = bytes.size();
    MPI_Bcast(&count, 1, MPI_UINT64_T, from, processes_);
    bytes.resize(count);
    constexpr std::uint64_t most = 1u << 30;  // MPI counts are ints
    for (std::uint64_t begin = 0; begin < count; begin += most)
      MPI_Bcast(bytes.data() + begin, static_cast<int>(std::min(most, count - begin)), MPI_BYTE,
                from, processes_);
  }

  std::vector<double> gather(std::span<const double> own) override {
    return mpi::gather(processes_, own);
  }

  void ordered_sum(std::span<double> total, const std::function<void()>& add_own) override {
    const int count = static_cast<int>(total.size()), last = size() - 1;
    if (rank() == 0)
      std::ranges::fill(total, 0.0);
    else
      MPI_Recv(total.data(), count, MPI_DOUBLE, rank() - 1, 0, processes_, MPI_STATUS_IGNORE);
    add_own();
    if (rank() < last) MPI_Send(total.data(), count, MPI_DOUBLE, rank() + 1, 0, processes_);
    MPI_Bcast(total.data(), count, MPI_DOUBLE, last, processes_);
  }

  std::unique_ptr<Runtime> start(std::vector<std::unique_ptr<Agent>> agents, const Graph& graph,
                                 Schedule schedule, const ClusterOptions& options) override {
    return std::make_unique<LockStep>(processes_, std::move(agents), graph, std::move(schedule),
                                      resolved(options));
  }

  std::unique_ptr<AsyncRuntime> start_async(std::vector<std::unique_ptr<Agent>> agents,
                                            const Graph& graph, const std::vector<int>& work_loads,
                                            const ClusterOptions& options) override {
    return std::make_unique<AsyncRun>(processes_, std::move(agents), graph, work_loads,
                                      resolved(options));
  }

 private:
  ClusterOptions resolved(ClusterOptions options) const {
    if (options.threads == 0) options.threads = fair_threads(processes_);
    return options;
  }

  MPI_Comm processes_ = MPI_COMM_NULL;
};

}  // namespace

Session::Session() {
  int provided = 0;
  // Agents work on several threads, but only the main one calls MPI.
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  cluster_ = std::make_unique<MpiCluster>();
}

Session::~Session() {
  cluster_.reset();
  MPI_Finalize();
}

void Session::abort(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::abort();  // MPI_Abort does not return
}

}  // namespace grove::mpi
