#include "grove/peer/members.h"

#include <algorithm>

namespace grove::peer {

using v1::Member;

namespace {

constexpr std::size_t max_known_members = 10'000;
/// A member counts its heartbeats one by one, so a larger jump is forged.
constexpr std::uint64_t max_heartbeat_jump = std::uint64_t{1} << 32;

}  // namespace

Members::Members(MembersOptions options, double now) : options_(std::move(options)), started_(now) {
  Member& self = known_[options_.self].member;
  self.set_name(options_.self);
  self.set_residual(std::numeric_limits<double>::infinity());
}

bool Members::is_live(const Known& known, double now) const {
  return known.member.name() == options_.self || now - known.received_at < options_.forget_seconds;
}

bool Members::waiting_for_start(double now) const {
  return now - started_ < options_.forget_seconds;
}

/// Two phases precede the stop (converged, then ready). A peer that is disturbed between them falls
/// back to working, and the others notice.
void Members::report(double residual, bool locally_converged, std::uint64_t activations,
                     double now) {
  Member& self = own();
  self.set_heartbeats(self.heartbeats() + 1);
  self.set_residual(residual);
  self.set_activations(activations);
  if (self.phase() == Member::STOPPED) return;
  if (!locally_converged)
    self.set_phase(Member::WORKING);
  else if (anyone_stopped() ||
           (self.phase() == Member::READY_TO_STOP && all_reached(Member::READY_TO_STOP, now)))
    self.set_phase(Member::STOPPED);
  else if (all_reached(Member::LOCALLY_CONVERGED, now))
    self.set_phase(Member::READY_TO_STOP);
  else
    self.set_phase(Member::LOCALLY_CONVERGED);
}

void Members::merge(const v1::Heartbeat& heartbeat, double now) {
  std::erase_if(known_, [&](const auto& one) {
    return one.first != options_.self && now - one.second.received_at > 2 * options_.forget_seconds;
  });
  for (const Member& received : heartbeat.members()) {
    if (received.name() == options_.self) {
      // Others know a later heartbeat than this peer, which lost its state: count on from there.
      if (received.heartbeats() > own().heartbeats() &&
          received.heartbeats() - own().heartbeats() <= max_heartbeat_jump)
        own().set_heartbeats(received.heartbeats());
      continue;
    }
    const auto found = known_.find(received.name());
    if (found == known_.end()) {
      if (known_.size() < max_known_members) known_[received.name()] = {received, now};
      continue;
    }
    Known& known = found->second;
    const bool later = received.heartbeats() > known.member.heartbeats() &&
                       received.heartbeats() - known.member.heartbeats() <= max_heartbeat_jump;
    // A member that was gone may return without its state and count from the start.
    const bool returned =
        !is_live(known, now) && received.heartbeats() != known.member.heartbeats();
    if (!later && !returned) continue;
    known = {received, now};
  }
}

v1::Heartbeat Members::heartbeat(double now) const {
  v1::Heartbeat result;
  for (const auto& [name, known] : known_)
    if (is_live(known, now)) *result.add_members() = known.member;
  return result;
}

/// Ignores the phase of this peer itself, which the caller knows to have converged.
bool Members::all_reached(Member::Phase phase, double now) const {
  std::size_t live = 0;
  for (const auto& [name, known] : known_) {
    if (!is_live(known, now)) continue;
    ++live;
    if (name != options_.self && known.member.phase() < phase) return false;
  }
  return live >= options_.expected || !waiting_for_start(now);
}

bool Members::anyone_stopped() const {
  return std::ranges::any_of(
      known_, [](const auto& entry) { return entry.second.member.phase() == Member::STOPPED; });
}

bool Members::everyone_stopped(double now) const {
  return phase() == Member::STOPPED && all_reached(Member::STOPPED, now);
}

bool Members::is_gone(const std::string& name, double now) const {
  const auto found = known_.find(name);
  if (found == known_.end()) return !waiting_for_start(now);
  return !is_live(found->second, now);
}

std::size_t Members::count(double now) const {
  std::size_t live = 0;
  for (const auto& [name, known] : known_) live += is_live(known, now);
  return waiting_for_start(now) ? std::max(live, options_.expected) : live;
}

std::string Members::holder(double now) const {
  if (!is_gone(options_.holder, now)) return options_.holder;
  for (const auto& [name, known] : known_)
    if (is_live(known, now)) return name;  // the first by name is the same at every peer
  return options_.self;
}

double Members::step_seconds(const std::string& name) const {
  const auto found = known_.find(name);
  return found == known_.end() ? 0 : found->second.member.step_seconds();
}

double Members::worst_residual(double now) const {
  double worst = 0;
  for (const auto& [name, known] : known_)
    if (is_live(known, now)) worst = std::max(worst, known.member.residual());
  return worst;
}

}  // namespace grove::peer
