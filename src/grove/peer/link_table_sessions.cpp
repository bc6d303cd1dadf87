// The functions of the link table that the network threads call.
#include <algorithm>

#include <fmt/format.h>

#include "grove/peer/clock.h"
#include "grove/peer/link_table_link.h"

namespace grove::peer {
namespace {

constexpr double max_round_trip_seconds = 60;

}  // namespace

v1::Hello LinkTable::hello_to(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  v1::Hello hello;
  hello.set_protocol(options_.protocols.newest);
  hello.set_oldest_protocol(options_.protocols.oldest);
  hello.set_network(options_.network);
  hello.set_from(options_.self);
  hello.set_to(name);
  set_schema(options_.schema, hello);
  hello.set_float32(options_.float32);
  if (!own_entry_.member().empty()) *hello.mutable_self() = own_entry_;
  if (const auto link = links_.find(name); link != links_.end()) {
    hello.set_last_received(link->second->last_accepted);
    if (!link->second->proof.member().empty()) *hello.mutable_proof() = link->second->proof;
  }
  hello.mutable_estimate()->Add(estimate_.begin(), estimate_.end());
  return hello;
}

std::optional<Violation> LinkTable::validate_admission(const v1::Hello& hello) const {
  if (closed_) return Violation{RejectReason::unknown_peer, "this peer is leaving"};
  if (auto violation = validate(hello, {.network = options_.network,
                                        .self = options_.self,
                                        .schema = options_.schema,
                                        .dimension = options_.shape.dimension,
                                        .protocols = options_.protocols}))
    return violation;
  const auto link = links_.find(hello.from());
  if (link == links_.end() && !options_.accept_new)
    return Violation{RejectReason::unknown_peer,
                     fmt::format("'{}' is not a neighbour", hello.from())};
  if (link != links_.end() && link->second->session != 0)
    return Violation{RejectReason::duplicate_peer,
                     fmt::format("'{}' is connected already", hello.from())};
  const std::uint64_t newest = std::max(newest_sent_, newest_received_from_self_);
  if (options_.signer == nullptr && hello.last_received() > newest + max_sequence_jump)
    return Violation{RejectReason::absurd_sequence,
                     fmt::format("last received sequence {}", hello.last_received())};
  return std::nullopt;
}

/// The newest sequence of this peer that the neighbour can have received. A neighbour's claim never
/// moves this peer to an epoch that it did not sign: its sequence numbers would soon be used up.
std::uint64_t LinkTable::proven_last_received(const v1::Hello& hello) const {
  const std::uint64_t claimed = hello.last_received();
  if (options_.signer == nullptr) return claimed;
  std::uint64_t epoch = epoch_of(std::max(newest_sent_, newest_received_from_self_));
  if (epoch_of(claimed) <= epoch) return claimed;
  const auto signed_by_self = parse_member(hello.proof());
  if (signed_by_self && signed_by_self->name() == options_.self &&
      options_.signer->verify(hello.proof(), options_.self))
    epoch = std::max<std::uint64_t>(epoch, signed_by_self->epoch());
  return epoch_of(claimed) <= epoch ? claimed : 0;
}

bool LinkTable::may_connect(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return !closed_ && (links_.contains(name) || (options_.accept_new && is_peer_name(name)));
}

std::optional<Violation> LinkTable::admit(const v1::Hello& hello, std::uint64_t& session) {
  const std::lock_guard lock(mutex_);
  if (auto violation = validate_admission(hello)) {
    count_rejection(hello.from(), *violation);
    if (violation->reason == RejectReason::duplicate_peer) store_entry(hello.self());
    return violation;
  }
  auto& link = links_[hello.from()];
  if (!link) link = std::make_unique<Link>();
  session = link->session = ++last_session_;
  ++link->counts.sessions;
  link->float32 = options_.float32 && hello.float32();
  link->gossips_only = !same_encoding(options_.schema, schema_of(hello));
  link->has_outgoing = false;
  link->last_weight_version = -1;  // the neighbour may have lost its latest weight
  link->outgoing_heartbeat.reset();
  link->certificates_sent.clear();
  link->echo = 0;  // the clock of another process may have another origin
  store_proof(*link, hello.from(), hello.self());
  v1::Heartbeat entries;
  if (hello.has_self()) *entries.add_members() = hello.self();
  if (hello.has_proof()) *entries.add_members() = hello.proof();
  if (!validate(entries)) link->received_heartbeat = std::move(entries);
  if (collect_estimates_ && !link->gossips_only)
    link->estimate.assign(hello.estimate().begin(), hello.estimate().end());
  const std::uint64_t last_received = proven_last_received(hello);
  newest_received_from_self_ = std::max(newest_received_from_self_, last_received);
  // The neighbour has received sequence numbers of this epoch that this process never sent to it.
  // An earlier process sent them and left no checkpoint. A new epoch keeps the two apart.
  if (epoch_of(last_received) == epoch_of(newest_sent_) && last_received > link->last_sent)
    newest_received_from_self_ = std::max(newest_received_from_self_, next_epoch(newest_sent_) - 1);
  changed_.notify_all();
  return std::nullopt;
}

void LinkTable::reject(const std::string& name, const Violation& violation) {
  const std::lock_guard lock(mutex_);
  count_rejection(name, violation);
}

void LinkTable::add_entry(const v1::SignedMember& entry) {
  const std::lock_guard lock(mutex_);
  store_entry(entry);
}

/// The loop verifies the signature. Refused hellos cannot fill the memory between two heartbeats.
void LinkTable::store_entry(const v1::SignedMember& entry) {
  constexpr int max_entries = 16;
  v1::Heartbeat alone;
  *alone.add_members() = entry;
  if (twin_entries_.members_size() < max_entries && !validate(alone))
    *twin_entries_.add_members() = entry;
}

/// Logs one line per peer and reason, so a stranger cannot fill the log with invented names.
void LinkTable::count_rejection(const std::string& name, const Violation& violation) {
  const auto kind = static_cast<std::size_t>(violation.reason);
  const auto link = links_.find(name);
  const bool known = link != links_.end();
  ++(known ? link->second->counts.rejected : strangers_rejected_)[kind];
  if (known)
    link->second->last_rejection =
        fmt::format("{}: {}", name_of(violation.reason), violation.detail);
  const std::string who = known ? name : "stranger";
  if (logged_.insert({who, violation.reason}).second)
    log_->warn("refused peer={} reason={} detail=\"{}\"", who, name_of(violation.reason),
               violation.detail);
}

namespace {

std::string_view kind_of(const v1::Envelope& envelope) {
  if (envelope.has_hello()) return "hello";
  if (envelope.has_heartbeat()) return "heartbeat";
  return envelope.iterate().weights().has_update() ? "weight" : "iterate";
}

}  // namespace

bool LinkTable::record(const std::string& to, const v1::Envelope& envelope) {
  if (options_.audit == nullptr) return true;
  if (options_.audit->record({kind_of(envelope), to, envelope.SerializeAsString()})) return true;
  log_->error("not sent peer={}: the audit log cannot be written", to);
  return false;
}

bool LinkTable::next_to_send(const std::string& name, std::uint64_t session,
                             v1::Envelope& envelope) {
  std::unique_lock lock(mutex_);
  Link& link = *links_.at(name);
  while (link.session == session) {
    const bool due = link.has_outgoing && link.outgoing_due <= monotonic_seconds();
    if (due || link.outgoing_heartbeat) break;
    if (link.has_outgoing)
      link.outgoing_ready.wait_until(lock, time_point_at(link.outgoing_due));
    else
      link.outgoing_ready.wait(lock);
  }
  if (link.session != session) return false;
  if (link.outgoing_heartbeat) {
    *envelope.mutable_heartbeat() = std::move(*link.outgoing_heartbeat);
    link.outgoing_heartbeat.reset();
    for (v1::SignedMember& entry : *envelope.mutable_heartbeat()->mutable_members())
      if (!entry.certificate().empty() &&
          !link.certificates_sent.insert(entry.certificate()).second)
        entry.clear_certificate();
    const double now = monotonic_seconds();
    envelope.mutable_heartbeat()->set_sent_at(now);
    envelope.mutable_heartbeat()->set_echo(link.echo);
    envelope.mutable_heartbeat()->set_echo_seconds(now - link.echo_received_at);
  } else {
    envelope.mutable_iterate()->Swap(&link.outgoing);
    link.has_outgoing = false;
    ++link.counts.iterates_sent;
  }
  link.counts.bytes_sent += envelope.ByteSizeLong();
  lock.unlock();
  return record(name, envelope);
}

void LinkTable::store(Link& link, v1::Iterate& iterate) {
  link.last_accepted = iterate.sequence();
  if (iterate.weights().has_update()) link.last_weight_version = update_version(iterate.weights());
  if (link.has_received) keep_updates(link.received, iterate);
  link.received.Swap(&iterate);
  link.has_received = true;
  ++link.counts.iterates_received;
  changed_.notify_one();
}

/// A neighbour can falsify the round trip of its own link only, up to the limit.
void LinkTable::measure_round_trip(Link& link, const v1::Heartbeat& heartbeat) {
  const double now = monotonic_seconds();
  if (heartbeat.echo() > 0)
    link.round_trip =
        std::clamp(now - heartbeat.echo() - heartbeat.echo_seconds(), 0.0, max_round_trip_seconds);
  link.echo = heartbeat.sent_at();
  link.echo_received_at = now;
}

double LinkTable::round_trip(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto link = links_.find(name);
  return link == links_.end() ? 0 : link->second->round_trip;
}

void LinkTable::store(Link& link, const std::string& name, v1::Heartbeat& heartbeat) {
  measure_round_trip(link, heartbeat);
  if (heartbeat.members_size() > 0) store_proof(link, name, heartbeat.members(0));
  if (link.received_heartbeat) keep_certificates(*link.received_heartbeat, heartbeat);
  link.received_heartbeat = std::move(heartbeat);
}

bool LinkTable::deliver(const std::string& name, std::uint64_t session, v1::Envelope& envelope) {
  const std::size_t bytes = envelope.ByteSizeLong();
  std::optional<Violation> violation;
  if (bytes > max_message_bytes(options_.shape))
    violation = Violation{RejectReason::too_large, fmt::format("message of {} bytes", bytes)};
  else if (envelope.iterate().weights().has_update())  // slow, so without the lock
    violation = validate(envelope.iterate().weights().update(), options_.shape);

  const std::lock_guard lock(mutex_);
  Link& link = *links_.at(name);
  if (link.session != session) return false;
  link.counts.bytes_received += bytes;
  if (violation) {
    // Rejected below.
  } else if (envelope.has_iterate() && link.gossips_only) {
    violation = Violation{RejectReason::malformed, "an iterate under another encoding"};
  } else if (envelope.has_iterate()) {
    violation = validate(envelope.iterate(),
                         {.shape = options_.shape,
                          .float32 = link.float32,
                          .last_sequence = link.last_accepted,
                          .newest_own_sequence = std::max(newest_sent_, newest_received_from_self_),
                          .last_weight_version = link.last_weight_version});
    if (!violation) store(link, *envelope.mutable_iterate());
  } else if (envelope.has_heartbeat()) {
    violation = validate(envelope.heartbeat());
    if (!violation) store(link, name, *envelope.mutable_heartbeat());
  } else {
    violation = Violation{RejectReason::malformed, "neither iterate nor heartbeat"};
  }
  if (!violation) return true;
  count_rejection(name, *violation);
  return violation->reason == RejectReason::stale_sequence ||
         violation->reason == RejectReason::stale_link_weight;
}

void LinkTable::end_session(const std::string& name, std::uint64_t session) {
  const std::lock_guard lock(mutex_);
  Link& link = *links_.at(name);
  if (link.session != session) return;
  link.session = 0;
  link.has_received = false;
  link.outgoing_ready.notify_all();
  changed_.notify_all();
}

}  // namespace grove::peer
