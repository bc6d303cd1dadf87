#pragma once

#include <memory>

namespace grove {
class Cluster;
}

namespace grove::mpi {

/// Starts MPI in this process, and ends it when destroyed. Once per process.
class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Cluster& cluster() { return *cluster_; }

  /// Ends all processes of the job at once, with this exit code.
  [[noreturn]] void abort(int exit_code);

 private:
  std::unique_ptr<Cluster> cluster_;
};

}  // namespace grove::mpi
