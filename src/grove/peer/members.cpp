#include "grove/peer/members.h"

#include <algorithm>
#include <utility>

#include "grove/data/digest.h"
#include "grove/peer/wire.h"

namespace grove::peer {

using v1::Member;

namespace {

constexpr std::size_t max_known_members = 10'000;
/// A member counts its heartbeats one by one, so a larger jump of an unsigned count is forged.
constexpr std::uint64_t max_heartbeat_jump = std::uint64_t{1} << 32;
/// The residual of a member that has stopped may vary by this factor of the tolerance.
constexpr double stopped_slack = 10;
constexpr std::size_t run_digits = 16;

/// Of two processes with the same count, the one with the larger number is believed.
bool is_later(const Member& a, const Member& b) {
  return std::pair(a.heartbeats(), a.process()) > std::pair(b.heartbeats(), b.process());
}

}  // namespace

Members::Members(MembersOptions options, double now)
    : options_(std::move(options)),
      started_(now),
      seen_(options_.neighbours.begin(), options_.neighbours.end()) {
  Member& self = known_[options_.self].member;
  self.set_name(options_.self);
  self.set_residual(std::numeric_limits<double>::infinity());
  self.set_process(options_.process);
  self.set_data(options_.data);
  self.set_run(run_of(now));
}

bool Members::is_recent(const Known& known, double now) const {
  return known.member.name() == options_.self || now - known.received_at < options_.forget_seconds;
}

bool Members::is_live(const Known& known, double now) const {
  return is_recent(known, now) && known.member.phase() != Member::LEFT;
}

bool Members::waiting_for_start(double now) const {
  return now - started_ < options_.forget_seconds;
}

std::string Members::run_of(double now) const {
  Sha256 digest;
  digest.update(options_.problem);
  for (const auto& [name, known] : known_)
    if (is_live(known, now)) digest.update("\n" + name + "=" + known.member.data());
  return digest.finish().substr(0, run_digits);
}

/// Two phases precede the stop (converged, then ready). A peer that is disturbed between them falls
/// back to working, and the others notice. So does a peer that has stopped, when it learns that
/// another computation is going on: a member is new, or has other data.
void Members::report(double residual, bool locally_converged, std::uint64_t activations,
                     double now) {
  Member& self = own();
  twin_advances_ += std::exchange(twin_advanced_, false);
  self.set_heartbeats(self.heartbeats() + 1);
  self.set_residual(residual);
  self.set_activations(activations);
  if (self.phase() == Member::LEFT) return;
  std::string run = run_of(now);
  if (run != self.run()) {
    self.set_run(std::move(run));
    self.set_phase(std::min(self.phase(), Member::LOCALLY_CONVERGED));
  }
  const bool stays = self.phase() == Member::STOPPED;
  if (!locally_converged || residual > options_.tolerance * (stays ? stopped_slack : 1))
    self.set_phase(Member::WORKING);
  else if (stays || anyone_stopped(now) ||
           (self.phase() == Member::READY_TO_STOP && all_reached(Member::READY_TO_STOP, now)))
    self.set_phase(Member::STOPPED);
  else if (all_reached(Member::LOCALLY_CONVERGED, now))
    self.set_phase(Member::READY_TO_STOP);
  else
    self.set_phase(Member::LOCALLY_CONVERGED);
}

/// Another process of this peer signed the entry: an earlier one, whose count is continued, or a
/// twin that runs at the same time. The count of a twin advances again and again. Of the two, the
/// one with the smaller number gives way.
void Members::merge_own(const Member& received) {
  if (received.process() > options_.process && received.heartbeats() > twin_heartbeats_) {
    twin_heartbeats_ = received.heartbeats();
    twin_advanced_ = true;
  }
  if (!is_later(received, own())) return;
  if (options_.signer == nullptr && received.heartbeats() - own().heartbeats() > max_heartbeat_jump)
    return;
  own().set_heartbeats(received.heartbeats());
}

void Members::merge_other(Member received, const v1::SignedMember& entry, double now) {
  const auto found = known_.find(received.name());
  if (found != known_.end()) {
    const Known& known = found->second;
    if (!is_later(received, known.member)) return;
    if (options_.signer == nullptr &&
        received.heartbeats() - known.member.heartbeats() > max_heartbeat_jump)
      return;
  } else if (known_.size() >= max_known_members) {
    return;
  }
  if (options_.signer != nullptr && !options_.signer->verify(entry, received.name())) return;
  if (seen_.size() < max_known_members) seen_.insert(received.name());
  Known known{std::move(received), entry, now};
  known.entry.clear_certificate();  // the signer has it
  known_[known.member.name()] = std::move(known);
}

void Members::merge(const v1::Heartbeat& heartbeat, double now) {
  std::erase_if(known_, [&](const auto& one) {
    return one.first != options_.self && now - one.second.received_at > 2 * options_.forget_seconds;
  });
  for (const v1::SignedMember& entry : heartbeat.members()) {
    auto received = parse_member(entry);
    if (!received) continue;
    if (received->name() != options_.self)
      merge_other(std::move(*received), entry, now);
    else if (received->process() != options_.process &&
             (options_.signer == nullptr || options_.signer->verify(entry, options_.self)))
      merge_own(*received);
  }
}

v1::Heartbeat Members::heartbeat(double now) const {
  v1::Heartbeat result;
  if (options_.signer != nullptr)
    *result.add_members() = options_.signer->sign(own());
  else
    result.add_members()->set_member(own().SerializeAsString());
  for (const auto& [name, known] : known_) {
    if (name == options_.self || !is_recent(known, now)) continue;
    v1::SignedMember& entry = *result.add_members();
    entry = known.entry;
    if (options_.signer != nullptr) entry.set_certificate(options_.signer->certificate_of(name));
  }
  return result;
}

bool Members::all_seen(double now) const {
  return live(now).size() + left() >= options_.expected || !waiting_for_start(now);
}

std::size_t Members::left() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      known_, [](const auto& one) { return one.second.member.phase() == Member::LEFT; }));
}

bool Members::has_left(const std::string& name) const {
  const auto found = known_.find(name);
  return found != known_.end() && found->second.member.phase() == Member::LEFT;
}

/// Whether the member claims the phase for the computation that this peer takes part in.
bool Members::claims(const Member& member, Member::Phase phase) const {
  return member.phase() >= phase && member.run() == own().run() &&
         member.residual() <= stopped_slack * options_.tolerance;
}

/// Ignores the phase of this peer itself, which the caller knows to have converged.
bool Members::all_reached(Member::Phase phase, double now) const {
  return all_seen(now) && std::ranges::all_of(known_, [&](const auto& one) {
           return one.first == options_.self || !is_live(one.second, now) ||
                  claims(one.second.member, phase);
         });
}

bool Members::anyone_stopped(double now) const {
  return all_seen(now) && std::ranges::any_of(known_, [&](const auto& one) {
           return one.first != options_.self && is_live(one.second, now) &&
                  claims(one.second.member, Member::STOPPED);
         });
}

bool Members::everyone_stopped(double now) const {
  return phase() == Member::STOPPED && all_reached(Member::STOPPED, now);
}

bool Members::is_gone(const std::string& name, double now) const {
  const auto found = known_.find(name);
  if (found == known_.end()) return !waiting_for_start(now);
  return !is_live(found->second, now);
}

std::vector<std::string> Members::live(double now) const {
  std::vector<std::string> names;
  for (const auto& [name, known] : known_)
    if (is_live(known, now)) names.push_back(name);
  return names;
}

std::size_t Members::count(double now) const {
  const std::size_t count = live(now).size();
  if (!waiting_for_start(now)) return count;
  return std::max(count + left(), options_.expected) - left();
}

std::vector<std::string> Members::missing(double now) const {
  std::vector<std::string> names;
  for (const std::string& name : seen_) {
    const auto found = known_.find(name);
    if (found == known_.end() || !is_live(found->second, now)) names.push_back(name);
  }
  return names;
}

std::size_t Members::unseen(double now) const {
  const std::size_t known = live(now).size() + missing(now).size();
  return options_.expected > known ? options_.expected - known : 0;
}

std::vector<AwaitedMember> Members::awaited(double now) const {
  std::vector<AwaitedMember> result;
  for (const std::string& name : seen_) {
    const auto found = known_.find(name);
    const bool known = found != known_.end();
    if (known && found->second.member.phase() == Member::LEFT) continue;
    if (!known && !waiting_for_start(now)) continue;  // forgotten
    if (known && !is_live(found->second, now)) continue;
    const bool working = known && !claims(found->second.member, Member::LOCALLY_CONVERGED);
    if (known && !working) continue;
    result.push_back({.name = name,
                      .silent_seconds = known ? now - found->second.received_at : -1,
                      .working = working});
  }
  if (const std::size_t count = unseen(now); count > 0 && waiting_for_start(now))
    result.push_back({.count = count});
  return result;
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

double Members::last_unfinished(double now) const {
  double newest = -1;
  for (const auto& [name, known] : known_)
    if (name != options_.self && is_live(known, now) && !claims(known.member, Member::STOPPED))
      newest = std::max(newest, known.received_at);
  return newest;
}

}  // namespace grove::peer
