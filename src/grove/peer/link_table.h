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

#include <spdlog/logger.h>

#include "grove/agent/message.h"
#include "grove/base/random.h"
#include "grove/base/types.h"
#include "grove/peer/audit.h"
#include "grove/peer/peer.pb.h"
#include "grove/peer/signer.h"
#include "grove/peer/wire.h"

namespace grove::peer {

struct LinkTableOptions {
  std::string network;
  std::string self;  ///< name of this peer
  Schema schema;
  LinkShape shape;
  ProtocolRange protocols = {};
  bool float32 = false;
  bool accept_new = false;
  std::uint64_t seed = 1;  ///< of the injected faults
  double fault_loss = 0;
  double fault_delay_seconds = 0;
  Signer* signer = nullptr;   ///< null without TLS; must outlive the table
  AuditLog* audit = nullptr;  ///< null: messages are not recorded; must outlive the table
};

/// Counters of one link, since the process started.
struct LinkCounts {
  std::uint64_t sessions = 0;
  std::uint64_t iterates_sent = 0;
  std::uint64_t iterates_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t faults_injected = 0;
  std::array<std::uint64_t, reject_reason_count> rejected{};
};

struct LinkStatus {
  std::string name;
  bool connected = false;         ///< and exchanges iterates
  double round_trip_seconds = 0;  ///< as last measured; 0: not yet
  LinkCounts counts;
  std::string last_rejection;  ///< reason and detail; empty if there was none
};

/// The links of a peer, shared by the network threads and the agent's loop. One mutex guards all
/// state, and no thread waits for the network while it holds the mutex. Each link stores only the
/// newest message in either direction, so a neighbour that is slow, hung or flooding does not
/// delay the other links.
class LinkTable {
 public:
  LinkTable(LinkTableOptions options, std::shared_ptr<spdlog::logger> log);
  ~LinkTable();

  // Called by the agent's loop.
  /// `proof` is the neighbour's entry with the epoch of `last_received`.
  void add_link(const std::string& name, std::uint64_t last_received = 0,
                const std::string& proof = {});
  /// Returns false if the neighbour is not connected.
  bool send(const std::string& name, const Message& message);
  /// To all connected neighbours. The first entry is of this peer, and is also sent in hellos.
  void publish(const v1::Heartbeat& heartbeat);
  /// Waits until every connected neighbour has sent an iterate, or until the given time (monotonic
  /// seconds). Returns true in the first case.
  bool wait_for_all(double until);
  /// Passes each neighbour's newest iterate since the last call to `receive`, and returns their
  /// number. A new link weight costs the loop factorizations; the table defers an iterate with a
  /// new weight to the next call if the last call had passed a new weight of the same neighbour.
  std::size_t take_iterates(
      const std::function<void(const std::string& name, const Message& message)>& receive);
  std::vector<v1::Heartbeat> take_heartbeats();
  void set_estimate(const Vector& x);                  ///< sent in the hellos of this peer
  std::vector<std::vector<double>> estimates() const;  ///< received in neighbours' hellos
  void discard_estimates();                            ///< and collects no further ones
  /// The newest sequence of this peer that any neighbour reported in its hello.
  std::uint64_t newest_received_from_self() const;
  std::string proof_of(const std::string& name) const;  ///< entry with the neighbour's latest epoch
  std::string newest_entry_of(const std::string& name) const;
  std::vector<LinkStatus> statuses() const;
  std::array<std::uint64_t, reject_reason_count> strangers_rejected() const;

  // Called by the sessions. A session is a number; 0 means not connected.
  v1::Hello hello_to(const std::string& name) const;
  /// Whether a caller with that name in its certificate may send a hello.
  bool may_connect(const std::string& name) const;
  /// Starts a session with the sender of the hello, or rejects the hello. The table counts
  /// rejections and logs the first of each kind.
  std::optional<Violation> admit(const v1::Hello& hello, std::uint64_t& session);
  void reject(const std::string& name, const Violation& violation);
  /// Passes an entry of another process of a member, which a hello or its refusal contained, to the
  /// loop. A process that is refused because its twin is connected learns of it this way.
  void add_entry(const v1::SignedMember& entry);
  /// Records a message of this peer before it is sent. Returns false if that failed: the message
  /// must not be sent.
  bool record(const std::string& to, const v1::Envelope& envelope);
  /// Waits for the next message to send. Returns false if the session has ended.
  bool next_to_send(const std::string& name, std::uint64_t session, v1::Envelope& envelope);
  /// Returns false if the neighbour violated the protocol and the session must end.
  bool deliver(const std::string& name, std::uint64_t session, v1::Envelope& envelope);
  void end_session(const std::string& name, std::uint64_t session);
  double round_trip(const std::string& name) const;  ///< seconds, as last measured; 0: not yet
  void close();                                      ///< ends all sessions and waits

 private:
  struct Link;

  std::optional<Violation> validate_admission(const v1::Hello& hello) const;
  std::uint64_t proven_last_received(const v1::Hello& hello) const;
  void store_entry(const v1::SignedMember& entry);
  void store_proof(Link& link, const std::string& name, const v1::SignedMember& entry);
  void count_rejection(const std::string& name, const Violation& violation);
  double fault_draw(Purpose purpose, const std::string& name, std::uint64_t sequence) const;
  void store(Link& link, v1::Iterate& iterate);
  void store(Link& link, const std::string& name, v1::Heartbeat& heartbeat);
  static void measure_round_trip(Link& link, const v1::Heartbeat& heartbeat);
  bool all_have_sent() const;
  static bool may_take(Link& link);

  LinkTableOptions options_;
  std::shared_ptr<spdlog::logger> log_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;  ///< an iterate arrived, or a session started or ended
  std::map<std::string, std::unique_ptr<Link>> links_;
  std::uint64_t last_session_ = 0;
  Eigen::VectorXf estimate_;  ///< single precision is enough for a starting point
  bool collect_estimates_ = true;
  v1::SignedMember own_entry_;
  v1::Heartbeat twin_entries_;  ///< since the loop last took the heartbeats
  std::uint64_t newest_sent_ = 0;
  std::uint64_t newest_received_from_self_ = 0;
  std::array<std::uint64_t, reject_reason_count> strangers_rejected_{};
  std::set<std::pair<std::string, RejectReason>> logged_;
  bool closed_ = false;
};

/// A 32-bit key of the name for keyed random numbers (FNV-1a).
std::uint32_t agent_number(std::string_view name);

}  // namespace grove::peer
