#pragma once

#include <cstddef>
#include <optional>

#include <oneapi/tbb/enumerable_thread_specific.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include "grove/agent/workspace.h"

namespace grove {

/// Threads and the workspaces they lend to the agents they activate.
class Workers {
 public:
  /// 0 threads: as many as the process may use.
  explicit Workers(int threads) : arena_(threads > 0 ? threads : tbb::task_arena::automatic) {
    if (threads > tbb::info::default_concurrency())
      limit_.emplace(tbb::global_control::max_allowed_parallelism,
                     static_cast<std::size_t>(threads));
  }

  template <class Body>
  void for_each(std::size_t count, const Body& body) {
    if (count == 0) return;
    if (count == 1) return body(0);  // not worth waking anyone
    arena_.execute([&] { tbb::parallel_for(std::size_t{0}, count, body); });
  }

  Workspace& workspace() { return workspaces_.local(); }
  int threads() { return arena_.max_concurrency(); }

 private:
  std::optional<tbb::global_control> limit_;  ///< more threads than cores only by explicit leave
  tbb::task_arena arena_;
  tbb::enumerable_thread_specific<Workspace> workspaces_;
};

}  // namespace grove
