#include "grove/peer/members.h"

#include <algorithm>

namespace grove::peer {

using v1::Member;

namespace {

constexpr std::size_t most_known = 10'000;  ///< names that gossip may bring
/// Beats are counted one by one: a larger jump is nobody's.
constexpr std::uint64_t farthest_beat = std::uint64_t{1} << 32;

}  // namespace

Members::Members(MembersOptions options, double now) : options_(std::move(options)), began_(now) {
  Member& self = known_[options_.self].member;
  self.set_name(options_.self);
  self.set_residual(std::numeric_limits<double>::infinity());
}

bool Members::live(const Known& known, double now) const {
  return known.member.name() == options_.self || now - known.heard_at < options_.forget_seconds;
}

bool Members::waiting_for_start(double now) const { return now - began_ < options_.forget_seconds; }

/// Two looks at everybody before the end (calm, then ready): a peer that was disturbed between them
/// falls back to working and is seen.
void Members::report(double residual, bool calm, std::uint64_t activations, double now) {
  Member& self = own();
  self.set_beat(self.beat() + 1);
  self.set_residual(residual);
  self.set_activations(activations);
  if (self.phase() == Member::DONE) return;
  if (!calm)
    self.set_phase(Member::WORKING);
  else if (anyone_done() || (self.phase() == Member::READY && all_reached(Member::READY, now)))
    self.set_phase(Member::DONE);
  else if (all_reached(Member::CALM, now))
    self.set_phase(Member::READY);
  else
    self.set_phase(Member::CALM);
}

void Members::merge(const v1::Heartbeat& heartbeat, double now) {
  std::erase_if(known_, [&](const auto& one) {
    return one.first != options_.self && now - one.second.heard_at > 2 * options_.forget_seconds;
  });
  for (const Member& heard : heartbeat.members()) {
    if (heard.name() == options_.self) {
      // Others remember a later life of this peer than it does: speak louder.
      if (heard.beat() > own().beat() && heard.beat() - own().beat() <= farthest_beat)
        own().set_beat(heard.beat());
      continue;
    }
    const auto found = known_.find(heard.name());
    if (found == known_.end()) {
      if (known_.size() < most_known) known_[heard.name()] = {heard, now};
      continue;
    }
    Known& known = found->second;
    const bool later =
        heard.beat() > known.member.beat() && heard.beat() - known.member.beat() <= farthest_beat;
    // One that was gone may return without its memory, and count from the start.
    const bool returned = !live(known, now) && heard.beat() != known.member.beat();
    if (!later && !returned) continue;
    known = {heard, now};
  }
}

v1::Heartbeat Members::heartbeat(double now) const {
  v1::Heartbeat result;
  for (const auto& [name, known] : known_)
    if (live(known, now)) *result.add_members() = known.member;
  return result;
}

/// `phase` of this peer itself does not matter: the caller knows it is calm.
bool Members::all_reached(Member::Phase phase, double now) const {
  std::size_t there = 0;
  for (const auto& [name, known] : known_) {
    if (!live(known, now)) continue;
    ++there;
    if (name != options_.self && known.member.phase() < phase) return false;
  }
  return there >= options_.expected || !waiting_for_start(now);
}

bool Members::anyone_done() const {
  return std::ranges::any_of(
      known_, [](const auto& entry) { return entry.second.member.phase() == Member::DONE; });
}

bool Members::everyone_done(double now) const {
  return phase() == Member::DONE && all_reached(Member::DONE, now);
}

bool Members::gone(const std::string& name, double now) const {
  const auto found = known_.find(name);
  if (found == known_.end()) return !waiting_for_start(now);
  return !live(found->second, now);
}

std::size_t Members::count(double now) const {
  std::size_t there = 0;
  for (const auto& [name, known] : known_) there += live(known, now);
  return waiting_for_start(now) ? std::max(there, options_.expected) : there;
}

std::string Members::holder(double now) const {
  if (!gone(options_.holder, now)) return options_.holder;
  for (const auto& [name, known] : known_)
    if (live(known, now)) return name;  // the first by name: the same at every peer
  return options_.self;
}

double Members::step_seconds(const std::string& name) const {
  const auto found = known_.find(name);
  return found == known_.end() ? 0 : found->second.member.step_seconds();
}

double Members::worst_residual(double now) const {
  double worst = 0;
  for (const auto& [name, known] : known_)
    if (live(known, now)) worst = std::max(worst, known.member.residual());
  return worst;
}

}  // namespace grove::peer
