#include "grove/peer/hub.h"

#include <algorithm>
#include <limits>

#include "grove/base/random.h"
#include "grove/peer/clock.h"
#include "grove/peer/hub_link.h"

namespace grove::peer {

std::uint32_t agent_number(std::string_view name) {
  std::uint32_t hash = 2166136261;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  return hash;
}

Hub::Hub(HubTerms terms, std::shared_ptr<spdlog::logger> log)
    : terms_(std::move(terms)), log_(std::move(log)) {}

Hub::~Hub() = default;

void Hub::add_link(const std::string& name, std::uint64_t latest_heard) {
  const std::lock_guard lock(mutex_);
  auto& link = links_[name];
  if (!link) link = std::make_unique<Link>();
  link->latest = std::max(link->latest, latest_heard);
}

double Hub::chance(Purpose purpose, const std::string& name, std::uint64_t sequence) const {
  return KeyedRandom({.seed = terms_.seed,
                      .purpose = purpose,
                      .agent = agent_number(terms_.self),
                      .round = sequence,
                      .step = agent_number(name)})
      .uniform();
}

bool Hub::say(const std::string& name, const Message& message) {
  std::unique_lock lock(mutex_);
  newest_said_ = std::max(newest_said_, message.sequence);
  Link& link = *links_.at(name);
  const std::uint64_t session = link.session;
  if (session == 0) return false;
  link.said = std::max(link.said, message.sequence);
  if (terms_.fault_loss > 0 &&
      chance(Purpose::message_loss, name, message.sequence) < terms_.fault_loss) {
    ++link.counts.faults_injected;
    return true;
  }
  const bool float32 = link.float32;
  lock.unlock();  // d may be large: the others need not wait for this
  v1::Iterate iterate;
  grpc::Slice values = bytes_of(pack_but_values(message, terms_.shape, iterate), float32);
  lock.lock();
  if (link.session != session) return false;
  if (link.iterate_waiting) keep_curvature(link.iterate, iterate);
  link.iterate.Swap(&iterate);
  std::swap(link.values, values);
  if (terms_.fault_delay_seconds > 0 && !link.iterate_waiting)
    link.iterate_due =
        monotonic_seconds() +
        terms_.fault_delay_seconds * chance(Purpose::message_delay, name, message.sequence);
  link.iterate_waiting = true;
  link.something_to_say.notify_one();
  return true;
}

void Hub::say_to_all(const v1::Heartbeat& heartbeat) {
  const std::lock_guard lock(mutex_);
  for (auto& [name, link] : links_) {
    if (link->session == 0) continue;
    link->heartbeat = heartbeat;
    link->something_to_say.notify_one();
  }
}

bool Hub::all_have_spoken() const {
  bool any = false;
  for (const auto& [name, link] : links_) {
    if (link->session == 0) continue;
    any = true;
    if (!link->fresh) return false;
  }
  return any;
}

bool Hub::wait_for_all(double until) {
  std::unique_lock lock(mutex_);
  return news_.wait_until(lock, time_point_at(until), [&] { return all_have_spoken(); });
}

bool Hub::has_its_turn(Link& link) {
  const v1::Weight& weight = link.heard.weight();
  const bool news = link.fresh && weight.has_curvature() && weight.version() != link.taken_version;
  const bool put_off = news && link.took_curvature;
  link.took_curvature = news && !put_off;
  if (link.took_curvature) link.taken_version = weight.version();
  return link.fresh && !put_off;
}

std::size_t Hub::take_iterates(
    const std::function<void(const std::string& name, const Message& message)>& receive) {
  std::vector<std::pair<std::string, v1::Iterate>> fresh;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [name, link] : links_) {
      if (!has_its_turn(*link)) continue;
      link->fresh = false;
      fresh.emplace_back(name, v1::Iterate()).second.Swap(&link->heard);
    }
  }
  std::vector<double> buffer;  // of this call only: a curvature may be large
  for (auto& [name, iterate] : fresh) {
    receive(name,
            {.sequence = iterate.sequence(), .payload = payload_of(iterate, terms_.shape, buffer)});
    v1::Iterate().Swap(&iterate);  // d may be large: let go of at once
  }
  return fresh.size();
}

std::vector<v1::Heartbeat> Hub::take_heartbeats() {
  const std::lock_guard lock(mutex_);
  std::vector<v1::Heartbeat> result;
  for (auto& [name, link] : links_)
    if (auto heartbeat = std::exchange(link->heard_heartbeat, std::nullopt))
      result.push_back(std::move(*heartbeat));
  return result;
}

void Hub::set_estimate(const Vector& x) {
  const bool fits = (x.array().abs() < std::numeric_limits<float>::max()).all();
  const std::lock_guard lock(mutex_);
  estimate_ = fits ? Eigen::VectorXf(x.cast<float>()) : Eigen::VectorXf();
}

std::vector<std::vector<double>> Hub::estimates() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::vector<double>> result;
  for (const auto& [name, link] : links_)
    if (!link->estimate.empty()) result.push_back(link->estimate);
  return result;
}

void Hub::forget_estimates() {
  const std::lock_guard lock(mutex_);
  keep_estimates_ = false;
  for (const auto& [name, link] : links_) std::vector<double>().swap(link->estimate);
}

std::uint64_t Hub::newest_heard_of_self() const {
  const std::lock_guard lock(mutex_);
  return newest_heard_of_self_;
}

std::vector<LinkStatus> Hub::links() const {
  const std::lock_guard lock(mutex_);
  std::vector<LinkStatus> result;
  result.reserve(links_.size());
  for (const auto& [name, link] : links_)
    result.push_back({name, link->session != 0, link->counts, link->last_refusal});
  return result;
}

std::array<std::uint64_t, refusal_kinds> Hub::strangers_refused() const {
  const std::lock_guard lock(mutex_);
  return strangers_refused_;
}

void Hub::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (auto& [name, link] : links_) {
    link->session = 0;
    link->something_to_say.notify_all();
  }
  news_.notify_all();
}

}  // namespace grove::peer
