#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

namespace grove::peer {

/// The open streams, with a function that cancels each. The owner cancels all of them at the end,
/// and those that have been silent for too long, because Read of a stream has no timeout.
class StreamRegistry {
 public:
  /// Registers a stream that must be confirmed by `deadline` (monotonic seconds).
  std::uint64_t add(std::function<void()> cancel, double deadline) {
    const std::lock_guard lock(mutex_);
    if (closed_) cancel();
    open_[++last_] = {std::move(cancel), deadline};
    return last_;
  }
  /// Moves the deadline of a stream that has sent something.
  void extend(std::uint64_t id, double deadline) {
    const std::lock_guard lock(mutex_);
    open_.at(id).deadline = deadline;
  }
  void remove(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    open_.erase(id);
  }
  void cancel_overdue(double now) {
    const std::lock_guard lock(mutex_);
    for (auto& [id, stream] : open_)
      if (stream.deadline < now) stream.cancel();
  }
  void cancel_all() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (auto& [id, stream] : open_) stream.cancel();
  }

 private:
  struct Stream {
    std::function<void()> cancel;
    double deadline = 0;
  };
  std::mutex mutex_;
  std::map<std::uint64_t, Stream> open_;
  std::uint64_t last_ = 0;
  bool closed_ = false;
};

}  // namespace grove::peer
