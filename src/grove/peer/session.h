#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "grove/peer/clock.h"
#include "grove/peer/hub.h"
#include "grove/peer/link_stream.h"

namespace grove::peer {

constexpr double hello_seconds = 5;  ///< time for a new stream to say hello

/// Lets at most 50,000 messages a second of one neighbour through: its reader rests for the other
/// time, so that the flow control of the stream holds a flooding neighbour back.
class Throttle {
 public:
  explicit Throttle(double now) : window_began_(now) {}

  /// Seconds to rest after one more message, read at `now`.
  double rest_after_message(double now) {
    if (++messages_ < window_messages) return 0;
    const double rest = std::max(0.0, window_began_ + window_seconds - now);
    messages_ = 0;
    window_began_ = now + rest;
    return rest;
  }

 private:
  static constexpr int window_messages = 1000;
  static constexpr double window_seconds = 0.02;
  int messages_ = 0;
  double window_began_;
};

/// Both directions of a stream whose hellos are exchanged, until either end closes it. `Stream` is
/// the client's or the server's side of the same call.
template <class Stream, class Cancel>
void converse(Stream& stream, Hub& hub, const std::string& name, std::uint64_t session,
              const Cancel& cancel) {
  std::thread writer([&] {
    grpc::ByteBuffer bytes;
    while (hub.next(name, session, bytes) && stream.Write(bytes)) bytes.Clear();
  });
  Throttle throttle(monotonic_seconds());
  v1::Envelope envelope;
  while (read_from(stream, hub.dimension(), envelope) && hub.deliver(name, session, envelope)) {
    envelope.Clear();  // what it replaced, or what was refused: d may be large
    const double rest = throttle.rest_after_message(monotonic_seconds());
    if (rest > 0) std::this_thread::sleep_for(std::chrono::duration<double>(rest));
  }
  hub.end_session(name, session);
  cancel();  // a writer held back by a neighbour that does not read must end, too
  writer.join();
}

}  // namespace grove::peer
