#include "grove/peer/members.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "grove/data/digest.h"
#include "grove/peer/link_table.h"
#include "grove/peer/mask_directory.h"
#include "grove/peer/study/acceptances.h"
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

/// A process continues the count of the one before it. Entries further behind are of a process that
/// has ended, and may be repeated by a neighbour.
constexpr std::uint64_t max_heartbeat_lag = 64;
constexpr std::size_t max_processes = 32;  ///< of one member, that are remembered

}  // namespace

std::uint64_t process_number() {
  constexpr int random_bits = 12;
  const auto started = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  return (static_cast<std::uint64_t>(started.count()) << random_bits) +
         (std::random_device{}() & ((1U << random_bits) - 1));
}

Members::Members(MembersOptions options, double now)
    : options_(std::move(options)),
      started_(now),
      seen_(options_.neighbours.begin(), options_.neighbours.end()) {
  Member& self = known_[options_.self].member;
  self.set_name(options_.self);
  self.set_residual(std::numeric_limits<double>::infinity());
  self.set_process(options_.process);
  self.set_data(options_.data);
  self.set_sum_key(options_.sum_key);
  if (options_.acceptances != nullptr) *self.mutable_acceptance() = options_.acceptances->own();
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
  const bool had_stopped = self.phase() == Member::STOPPED;
  const std::string run_before = self.run();
  agreed_anew_ = false;
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
  if (has_twin(now) || !locally_converged ||
      residual > options_.tolerance * (stays ? stopped_slack : 1))
    self.set_phase(Member::WORKING);
  else if (stays || (certified_ && all_seen(now)) || anyone_stopped(now) ||
           (self.phase() == Member::READY_TO_STOP && all_reached(Member::READY_TO_STOP, now)))
    self.set_phase(Member::STOPPED);
  else if (all_reached(Member::LOCALLY_CONVERGED, now))
    self.set_phase(Member::READY_TO_STOP);
  else
    self.set_phase(Member::LOCALLY_CONVERGED);
  agreed_anew_ = self.phase() == Member::STOPPED && (!had_stopped || self.run() != run_before);
}

/// Whether the entry is newer than what is known of its process.
bool Members::advances(const Known& known, const Member& received) const {
  const std::uint64_t count = known.member.heartbeats();
  if (received.heartbeats() + max_heartbeat_lag < count) return false;
  if (options_.signer == nullptr && received.heartbeats() > count + max_heartbeat_jump)
    return false;
  const auto process = known.processes.find(received.process());
  return process == known.processes.end() || received.heartbeats() > process->second.heartbeats;
}

void Members::note_process(Known& known, const Member& received, const v1::SignedMember& entry,
                           double now) {
  auto& processes = known.processes;
  if (processes.size() >= max_processes && !processes.contains(received.process()))
    processes.erase(std::ranges::min_element(
        processes, {}, [](const auto& one) { return one.second.received_at; }));
  Process& process = processes[received.process()];
  process = {received.heartbeats(), entry, now};
  process.entry.clear_certificate();  // the signer has it
}

/// Two processes of a member both take part: what the network computes then has its data twice.
bool Members::has_twin(double now) const {
  return std::ranges::any_of(known_, [&](const auto& one) {
    const auto beating = std::ranges::count_if(one.second.processes, [&](const auto& process) {
      return now - process.second.received_at < options_.twin_seconds;
    });
    return beating + (one.first == options_.self ? 1 : 0) > 1;
  });
}

/// Another process of this peer signed the entry: an earlier one, whose count is continued, or a
/// twin that runs at the same time.
void Members::merge_own(const Member& received, const v1::SignedMember& entry, double now) {
  Known& self = known_.at(options_.self);
  if (!advances(self, received)) return;
  if (options_.signer != nullptr && !options_.signer->verify(entry, options_.self)) return;
  note_process(self, received, entry, now);
  own().set_twin(received.process());
  own().set_heartbeats(std::max(own().heartbeats(), received.heartbeats()));
  duplicate_ |= received.twin() == options_.process && received.process() < options_.process;
}

void Members::merge_other(Member received, const v1::SignedMember& entry, double now) {
  const auto found = known_.find(received.name());
  if (found != known_.end() ? !advances(found->second, received)
                            : known_.size() >= max_known_members)
    return;
  if (options_.signer != nullptr && !options_.signer->verify(entry, received.name())) return;
  if (options_.acceptances != nullptr) options_.acceptances->add(received.name(), received);
  if (seen_.size() < max_known_members) seen_.insert(received.name());
  Known& known = known_[received.name()];
  note_process(known, received, entry, now);
  known.entry = known.processes.at(received.process()).entry;
  known.received_at = now;
  known.member = std::move(received);
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
    else if (received->process() != options_.process)
      merge_own(*received, entry, now);
  }
  if (options_.contributions != nullptr) options_.contributions->merge(heartbeat, run());
}

v1::Heartbeat Members::heartbeat(double now) const {
  v1::Heartbeat result;
  if (options_.signer != nullptr)
    *result.add_members() = options_.signer->sign(own());
  else
    result.add_members()->set_member(own().SerializeAsString());
  const auto forward = [&](const std::string& name, const v1::SignedMember& entry) {
    v1::SignedMember& copy = *result.add_members();
    copy = entry;
    if (options_.signer != nullptr) copy.set_certificate(options_.signer->certificate_of(name));
  };
  for (const auto& [name, known] : known_) {
    if (!is_recent(known, now)) continue;
    const bool self = name == options_.self;
    if (!self) forward(name, known.entry);
    for (const auto& [number, process] : known.processes)
      if ((self || number != known.member.process()) &&
          now - process.received_at < options_.twin_seconds)
        forward(name, process.entry);
  }
  if (options_.contributions != nullptr && phase() == Member::STOPPED)
    options_.contributions->add_to(result);
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

bool Members::has_stopped(const std::string& name) const {
  const auto found = known_.find(name);
  return found != known_.end() && claims(found->second.member, Member::STOPPED);
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
  return phase() == Member::STOPPED && all_reached(Member::STOPPED, now) &&
         (options_.contributions == nullptr || options_.contributions->complete(live(now), run()));
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

std::vector<v1::Member> Members::live_entries(double now) const {
  std::vector<Member> entries;
  for (const auto& [name, known] : known_)
    if (is_live(known, now)) entries.push_back(known.member);
  return entries;
}

bool Members::all_hold_fit(double now) const {
  return all_seen(now) && std::ranges::all_of(known_, [&](const auto& one) {
           return !is_live(one.second, now) || one.second.member.fit_held() == own().fit_held();
         });
}

bool Members::are_exactly(std::span<const AgentId> members, std::span<const std::uint32_t> data,
                          double now) const {
  std::vector<std::pair<AgentId, std::uint32_t>> announced, counted;
  for (const Member& one : live_entries(now))
    announced.emplace_back(AgentId{agent_number(one.name())}, data_tag(one.data(), one.sum_key()));
  std::ranges::sort(announced);
  if (members.size() != data.size()) return false;
  for (std::size_t k = 0; k < members.size(); ++k) counted.emplace_back(members[k], data[k]);
  return announced == counted;
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

double Members::last_heard(double now) const {
  double newest = -1;
  for (const auto& [name, known] : known_)
    if (name != options_.self && is_live(known, now)) newest = std::max(newest, known.received_at);
  return newest;
}

double Members::last_unfinished(double now) const {
  double newest = -1;
  for (const auto& [name, known] : known_)
    if (name != options_.self && is_live(known, now) && !claims(known.member, Member::STOPPED))
      newest = std::max(newest, known.received_at);
  return newest;
}

}  // namespace grove::peer
