#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "grove/peer/clock.h"
#include "grove/peer/link_table.h"

namespace grove::peer {

/// A new stream must send its hello within this time, and its first message within as much again.
/// Four round trips of 5 s precede the hello.
constexpr double hello_timeout_seconds = 25;
/// A neighbour sends heartbeats even during a long local step. A stream on which nothing arrives
/// for this time, or for several of its round trips, is dead.
constexpr double idle_timeout_seconds = 5;
inline double idle_limit(const LinkTable& links, const std::string& name, double least_seconds) {
  constexpr double round_trips = 4;
  return std::max(least_seconds, round_trips * links.round_trip(name));
}

/// Limits one neighbour to 50,000 messages a second. Its reader pauses for the rest of each window,
/// so the flow control of the stream slows a flooding neighbour down.
class Throttle {
 public:
  explicit Throttle(double now) : window_start_(now) {}

  /// Seconds to pause after one more message, read at `now`.
  double pause_after_message(double now) {
    if (++messages_ < window_messages) return 0;
    const double pause = std::max(0.0, window_start_ + window_seconds - now);
    messages_ = 0;
    window_start_ = now + pause;
    return pause;
  }

 private:
  static constexpr int window_messages = 1000;
  static constexpr double window_seconds = 0.02;
  int messages_ = 0;
  double window_start_;
};

/// Runs both directions of a stream after the hellos, until either end closes it. Bytes that are
/// not an envelope end the stream. `Stream` is the client's or the server's side of the same call;
/// `received` is called after every message.
template <class Stream, class Cancel, class Received>
void run_session(Stream& stream, LinkTable& links, const std::string& name, std::uint64_t session,
                 const Cancel& cancel, const Received& received) {
  std::thread writer([&] {
    v1::Envelope envelope;
    while (links.next_to_send(name, session, envelope) && stream.Write(envelope)) envelope.Clear();
  });
  Throttle throttle(monotonic_seconds());
  v1::Envelope envelope;
  while (stream.Read(&envelope) && links.deliver(name, session, envelope)) {
    envelope.Clear();  // frees the replaced or rejected message now, because d may be large
    received();
    const double pause = throttle.pause_after_message(monotonic_seconds());
    if (pause > 0) std::this_thread::sleep_for(std::chrono::duration<double>(pause));
  }
  links.end_session(name, session);
  cancel();  // ends a writer that waits for a neighbour that does not read
  writer.join();
}

}  // namespace grove::peer
