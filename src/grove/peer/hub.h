#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <grpcpp/support/byte_buffer.h>
#include <spdlog/logger.h>

#include "grove/agent/message.h"
#include "grove/base/random.h"
#include "grove/base/types.h"
#include "grove/peer/peer.pb.h"
#include "grove/peer/wire.h"

namespace grove::peer {

/// What sessions and the loop agree on before anything is said.
struct HubTerms {
  std::string network;
  std::string self;
  std::string fingerprint;
  LinkShape shape;
  bool float32 = false;
  bool accept_new = false;
  std::uint64_t seed = 1;  ///< of the injected faults
  double fault_loss = 0;
  double fault_delay_seconds = 0;
};

/// Counts of one link, since the process began.
struct LinkCounts {
  std::uint64_t sessions = 0;
  std::uint64_t iterates_sent = 0;
  std::uint64_t iterates_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t faults_injected = 0;
  std::array<std::uint64_t, refusal_kinds> refused{};
};

struct LinkStatus {
  std::string name;
  bool connected = false;
  LinkCounts counts;
  std::string last_refusal;  ///< in words; empty: none
};

/// Where the network threads and the agent's loop meet. One mutex guards it all; nobody waits for
/// the network while holding it. Each link keeps only the newest word in either direction: a
/// neighbour that is slow, hung or flooding costs the others nothing.
class Hub {
 public:
  Hub(HubTerms terms, std::shared_ptr<spdlog::logger> log);
  ~Hub();

  // The loop's side.
  void add_link(const std::string& name, std::uint64_t latest_heard = 0);
  /// False: nobody is there to hear it.
  bool say(const std::string& name, const Message& message);
  void say_to_all(const v1::Heartbeat& heartbeat);
  /// Until every connected neighbour has sent an iterate, or the time (monotonic seconds) has come.
  /// True: all have spoken.
  bool wait_for_all(double until);
  /// Hands each neighbour's newest iterate since the last call to `receive`. Returns how many. One
  /// with a new curvature, which costs the loop factorizations, is put off to the next call where
  /// the last one had brought a new curvature of that neighbour, too.
  std::size_t take_iterates(
      const std::function<void(const std::string& name, const Message& message)>& receive);
  std::vector<v1::Heartbeat> take_heartbeats();
  void set_estimate(const Vector& x);                  ///< told to neighbours that come
  std::vector<std::vector<double>> estimates() const;  ///< told by neighbours that came
  void forget_estimates();                             ///< they are not needed any more
  std::uint64_t newest_heard_of_self() const;          ///< largest `heard` of all hellos
  std::vector<LinkStatus> links() const;
  std::array<std::uint64_t, refusal_kinds> strangers_refused() const;

  // The sessions' side. A session is a number; 0 is none.
  Index dimension() const { return terms_.shape.dimension; }
  v1::Hello hello_to(const std::string& name) const;
  /// Begins a session with the sender of the hello, or refuses it (counted, logged once).
  std::optional<Flaw> admit(const v1::Hello& hello, std::uint64_t& session);
  void refuse(const std::string& name, const Flaw& flaw);
  /// The next thing to say; waits for it. False: the session is over.
  bool next(const std::string& name, std::uint64_t session, grpc::ByteBuffer& bytes);
  /// False: the neighbour broke the protocol and the session must end.
  bool deliver(const std::string& name, std::uint64_t session, v1::Envelope& envelope);
  void end_session(const std::string& name, std::uint64_t session);
  void close();  ///< ends all sessions and waits

 private:
  struct Link;

  std::optional<Flaw> admission_flaw(const v1::Hello& hello) const;
  void count_refusal(const std::string& name, const Flaw& flaw);
  double chance(Purpose purpose, const std::string& name, std::uint64_t sequence) const;
  void keep(Link& link, v1::Iterate& iterate);
  bool all_have_spoken() const;
  static bool has_its_turn(Link& link);

  HubTerms terms_;
  std::shared_ptr<spdlog::logger> log_;
  mutable std::mutex mutex_;
  std::condition_variable news_;
  std::map<std::string, std::unique_ptr<Link>> links_;
  std::uint64_t last_session_ = 0;
  Eigen::VectorXf estimate_;  ///< rounded: a place to start from needs no more
  bool keep_estimates_ = true;
  std::uint64_t newest_said_ = 0;
  std::uint64_t newest_heard_of_self_ = 0;
  std::array<std::uint64_t, refusal_kinds> strangers_refused_{};
  std::set<std::pair<std::string, Refusal>> logged_;
  bool closed_ = false;
};

/// A 32-bit name for keyed random numbers (FNV-1a).
std::uint32_t agent_number(std::string_view name);

}  // namespace grove::peer
