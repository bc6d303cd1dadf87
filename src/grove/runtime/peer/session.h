#pragma once

#include <chrono>
#include <string>
#include <thread>

#include "grove/runtime/peer/hub.h"

namespace grove::peer {

constexpr double hello_seconds = 5;  ///< time for a new stream to say hello

/// Lets at most `per_second` messages of one neighbour through and sleeps for the rest, so that the
/// flow control of the stream holds a flooding neighbour back.
class Throttle {
 public:
  void pass() {
    if (++count_ < window_messages) return;
    const auto now = std::chrono::steady_clock::now();
    if (now < began_ + window) std::this_thread::sleep_until(began_ + window);
    began_ = std::chrono::steady_clock::now();
    count_ = 0;
  }

 private:
  static constexpr int per_second = 50'000;
  static constexpr int window_messages = per_second / 50;
  static constexpr std::chrono::milliseconds window{20};
  int count_ = 0;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

/// Both directions of a stream whose hellos are exchanged, until either end closes it. `Stream` is
/// the client's or the server's side of the same call.
template <class Stream, class Cancel>
void converse(Stream& stream, Hub& hub, const std::string& name, std::uint64_t session,
              const Cancel& cancel) {
  std::thread writer([&] {
    v1::Envelope envelope;
    while (hub.next(name, session, envelope) && stream.Write(envelope)) {
    }
  });
  Throttle throttle;
  v1::Envelope envelope;
  while (stream.Read(&envelope) && hub.deliver(name, session, envelope)) throttle.pass();
  hub.end_session(name, session);
  cancel();  // a writer held back by a neighbour that does not read must end, too
  writer.join();
}

}  // namespace grove::peer
