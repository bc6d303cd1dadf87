// The side of the hub that the network threads call.
#include <fmt/format.h>

#include "grove/peer/clock.h"
#include "grove/peer/hub_link.h"

namespace grove::peer {

v1::Hello Hub::hello_to(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  v1::Hello hello;
  hello.set_protocol(protocol_version);
  hello.set_network(terms_.network);
  hello.set_from(terms_.self);
  hello.set_to(name);
  hello.set_fingerprint(terms_.fingerprint);
  hello.set_float32(terms_.float32);
  if (const auto link = links_.find(name); link != links_.end())
    hello.set_heard(link->second->latest);
  hello.mutable_estimate()->Add(estimate_.begin(), estimate_.end());
  return hello;
}

std::optional<Flaw> Hub::admission_flaw(const v1::Hello& hello) const {
  if (closed_) return Flaw{Refusal::unknown_peer, "this peer is leaving"};
  if (auto flaw = flaw_of(hello, {.network = terms_.network,
                                  .self = terms_.self,
                                  .fingerprint = terms_.fingerprint,
                                  .dimension = terms_.shape.dimension}))
    return flaw;
  const auto link = links_.find(hello.from());
  if (link == links_.end() && !terms_.accept_new)
    return Flaw{Refusal::unknown_peer, fmt::format("'{}' is not a neighbour", hello.from())};
  if (link != links_.end() && link->second->session != 0)
    return Flaw{Refusal::duplicate_peer, fmt::format("'{}' is connected already", hello.from())};
  if (hello.heard() > std::max(newest_said_, newest_heard_of_self_) + farthest_jump)
    return Flaw{Refusal::absurd_sequence, fmt::format("heard sequence {}", hello.heard())};
  return std::nullopt;
}

std::optional<Flaw> Hub::admit(const v1::Hello& hello, std::uint64_t& session) {
  const std::lock_guard lock(mutex_);
  if (auto flaw = admission_flaw(hello)) {
    count_refusal(hello.from(), *flaw);
    return flaw;
  }
  auto& link = links_[hello.from()];
  if (!link) link = std::make_unique<Link>();
  session = link->session = ++last_session_;
  ++link->counts.sessions;
  link->float32 = terms_.float32 && hello.float32();
  link->iterate_waiting = false;
  link->latest_version = -1;  // it may have lost the latest; the agent knows what is news to it
  link->heartbeat.reset();
  if (keep_estimates_) link->estimate.assign(hello.estimate().begin(), hello.estimate().end());
  newest_heard_of_self_ = std::max(newest_heard_of_self_, hello.heard());
  // It has heard numbers of this life that this process never said to it: another one did, of which
  // no checkpoint was left. They must not be taken for each other, so this life is over.
  if (life_of(hello.heard()) == life_of(newest_said_) && hello.heard() > link->said)
    newest_heard_of_self_ = std::max(newest_heard_of_self_, next_life(newest_said_) - 1);
  news_.notify_all();
  return std::nullopt;
}

void Hub::refuse(const std::string& name, const Flaw& flaw) {
  const std::lock_guard lock(mutex_);
  count_refusal(name, flaw);
}

/// Once per peer and kind in the log; a stranger cannot fill it with invented names.
void Hub::count_refusal(const std::string& name, const Flaw& flaw) {
  const auto kind = static_cast<std::size_t>(flaw.refusal);
  const auto link = links_.find(name);
  const bool known = link != links_.end();
  ++(known ? link->second->counts.refused : strangers_refused_)[kind];
  if (known) link->second->last_refusal = fmt::format("{}: {}", name_of(flaw.refusal), flaw.detail);
  const std::string who = known ? name : "stranger";
  if (logged_.insert({who, flaw.refusal}).second)
    log_->warn("refused peer={} reason={} detail=\"{}\"", who, name_of(flaw.refusal), flaw.detail);
}

bool Hub::next(const std::string& name, std::uint64_t session, grpc::ByteBuffer& bytes) {
  std::unique_lock lock(mutex_);
  Link& link = *links_.at(name);
  while (link.session == session) {
    const bool due = link.iterate_waiting && link.iterate_due <= monotonic_seconds();
    if (due || link.heartbeat) break;
    if (link.iterate_waiting)
      link.something_to_say.wait_until(lock, time_point_at(link.iterate_due));
    else
      link.something_to_say.wait(lock);
  }
  if (link.session != session) return false;
  if (link.heartbeat) {
    v1::Envelope envelope;
    *envelope.mutable_heartbeat() = std::move(*link.heartbeat);
    link.heartbeat.reset();
    bytes = bytes_of(envelope);
  } else {
    v1::Iterate iterate;
    grpc::Slice values;
    iterate.Swap(&link.iterate);
    std::swap(values, link.values);
    link.iterate_waiting = false;
    ++link.counts.iterates_sent;
    lock.unlock();  // a curvature may be large
    bytes = bytes_of(iterate, values);
    lock.lock();
  }
  link.counts.bytes_sent += bytes.Length();
  return true;
}

void Hub::keep(Link& link, v1::Iterate& iterate) {
  link.latest = iterate.sequence();
  if (iterate.weight().has_curvature()) link.latest_version = iterate.weight().version();
  if (link.fresh) keep_curvature(link.heard, iterate);
  link.heard.Swap(&iterate);
  link.fresh = true;
  ++link.counts.iterates_received;
  news_.notify_one();
}

bool Hub::deliver(const std::string& name, std::uint64_t session, v1::Envelope& envelope) {
  const std::size_t bytes = envelope.ByteSizeLong();
  std::optional<Flaw> flaw;
  if (bytes > largest_message_bytes(terms_.shape))
    flaw = Flaw{Refusal::too_large, fmt::format("message of {} bytes", bytes)};
  else if (envelope.iterate().weight().has_curvature())  // takes time: not under the lock
    flaw = flaw_of(envelope.iterate().weight().curvature(), terms_.shape);

  const std::lock_guard lock(mutex_);
  Link& link = *links_.at(name);
  if (link.session != session) return false;
  link.counts.bytes_received += bytes;
  if (flaw) {
    // It is refused below.
  } else if (envelope.has_iterate()) {
    flaw = flaw_of(envelope.iterate(), {.shape = terms_.shape,
                                        .float32 = link.float32,
                                        .latest = link.latest,
                                        .latest_own = std::max(newest_said_, newest_heard_of_self_),
                                        .latest_version = link.latest_version});
    if (!flaw) keep(link, *envelope.mutable_iterate());
  } else if (envelope.has_heartbeat()) {
    flaw = flaw_of(envelope.heartbeat());
    if (!flaw) link.heard_heartbeat = envelope.heartbeat();
  } else {
    flaw = Flaw{Refusal::malformed, "neither iterate nor heartbeat"};
  }
  if (!flaw) return true;
  count_refusal(name, *flaw);
  return flaw->refusal == Refusal::stale_sequence || flaw->refusal == Refusal::stale_curvature;
}

void Hub::end_session(const std::string& name, std::uint64_t session) {
  const std::lock_guard lock(mutex_);
  Link& link = *links_.at(name);
  if (link.session != session) return;
  link.session = 0;
  link.fresh = false;
  link.something_to_say.notify_all();
  news_.notify_all();
}

}  // namespace grove::peer
