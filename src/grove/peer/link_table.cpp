#include "grove/peer/link_table.h"

#include <algorithm>
#include <limits>

#include "grove/base/random.h"
#include "grove/peer/clock.h"
#include "grove/peer/link_table_link.h"

namespace grove::peer {

std::uint32_t agent_number(std::string_view name) {
  std::uint32_t hash = 2166136261;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  return hash;
}

LinkTable::LinkTable(LinkTableOptions options, std::shared_ptr<spdlog::logger> log)
    : options_(std::move(options)), log_(std::move(log)) {}

LinkTable::~LinkTable() = default;

void LinkTable::add_link(const std::string& name, std::uint64_t last_received,
                         const std::string& proof) {
  const std::lock_guard lock(mutex_);
  auto& link = links_[name];
  if (!link) link = std::make_unique<Link>();
  link->last_accepted = std::max(link->last_accepted, last_received);
  v1::SignedMember entry;
  if (!proof.empty() && entry.ParseFromString(proof)) store_proof(*link, name, entry);
}

/// Keeps the newest entry of the neighbour, and the newest with its latest epoch, which the
/// neighbour wants back after it lost its state: its first entries then have epoch 0. The author
/// verifies them, so this peer need not.
void LinkTable::store_proof(Link& link, const std::string& name, const v1::SignedMember& entry) {
  const auto member = parse_member(entry);
  if (!member || member->name() != name) return;
  std::string certificate =
      entry.certificate().empty() ? link.newest_entry.certificate() : entry.certificate();
  link.newest_entry = entry;
  link.newest_entry.set_certificate(std::move(certificate));
  const auto proven = parse_member(link.proof);
  if (!proven || member->epoch() >= proven->epoch()) link.proof = link.newest_entry;
}

std::string LinkTable::proof_of(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto link = links_.find(name);
  return link == links_.end() ? std::string() : link->second->proof.SerializeAsString();
}

std::string LinkTable::newest_entry_of(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto link = links_.find(name);
  return link == links_.end() ? std::string() : link->second->newest_entry.SerializeAsString();
}

double LinkTable::fault_draw(Purpose purpose, const std::string& name,
                             std::uint64_t sequence) const {
  return KeyedRandom({.seed = options_.seed,
                      .purpose = purpose,
                      .agent = agent_number(options_.self),
                      .round = sequence,
                      .step = agent_number(name)})
      .uniform();
}

bool LinkTable::send(const std::string& name, const Message& message) {
  std::unique_lock lock(mutex_);
  newest_sent_ = std::max(newest_sent_, message.sequence);
  Link& link = *links_.at(name);
  const std::uint64_t session = link.session;
  if (session == 0 || link.gossips_only) return false;
  link.last_sent = std::max(link.last_sent, message.sequence);
  if (options_.fault_loss > 0 &&
      fault_draw(Purpose::message_loss, name, message.sequence) < options_.fault_loss) {
    ++link.counts.faults_injected;
    return true;
  }
  const bool float32 = link.float32;
  lock.unlock();  // encoding a large vector must not block the other links
  v1::Iterate iterate = encode(message, options_.shape, float32);
  lock.lock();
  if (link.session != session) return false;
  if (link.has_outgoing) keep_updates(link.outgoing, iterate);
  link.outgoing.Swap(&iterate);
  if (options_.fault_delay_seconds > 0 && !link.has_outgoing)
    link.outgoing_due =
        monotonic_seconds() +
        options_.fault_delay_seconds * fault_draw(Purpose::message_delay, name, message.sequence);
  link.has_outgoing = true;
  link.outgoing_ready.notify_one();
  return true;
}

void LinkTable::publish(const v1::Heartbeat& heartbeat) {
  const std::lock_guard lock(mutex_);
  own_entry_ = heartbeat.members(0);
  for (auto& [name, link] : links_) {
    if (link->session == 0) continue;
    link->outgoing_heartbeat = heartbeat;
    link->outgoing_ready.notify_one();
  }
}

bool LinkTable::all_have_sent() const {
  bool any = false;
  for (const auto& [name, link] : links_) {
    if (link->session == 0 || link->gossips_only) continue;
    any = true;
    if (!link->has_received) return false;
  }
  return any;
}

bool LinkTable::wait_for_all(double until) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, time_point_at(until), [&] { return all_have_sent(); });
}

bool LinkTable::may_take(Link& link) {
  const v1::WeightHeader& weight = link.received.weights();
  const bool new_weight = link.has_received && weight.has_update() &&
                          update_version(weight) != link.taken_weight_version;
  const bool deferred = new_weight && link.took_weight;
  link.took_weight = new_weight && !deferred;
  if (link.took_weight) link.taken_weight_version = update_version(weight);
  return link.has_received && !deferred;
}

std::size_t LinkTable::take_iterates(
    const std::function<void(const std::string& name, const Message& message)>& receive) {
  std::vector<std::pair<std::string, v1::Iterate>> taken;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [name, link] : links_) {
      if (!may_take(*link)) continue;
      link->has_received = false;
      taken.emplace_back(name, v1::Iterate()).second.Swap(&link->received);
    }
  }
  std::vector<double> buffer;  // local, because a link weight may be large
  for (auto& [name, iterate] : taken) {
    receive(name, decode(iterate, options_.shape, buffer));
    v1::Iterate().Swap(&iterate);  // frees its vector now, because d may be large
  }
  return taken.size();
}

std::vector<v1::Heartbeat> LinkTable::take_heartbeats() {
  const std::lock_guard lock(mutex_);
  std::vector<v1::Heartbeat> result;
  for (auto& [name, link] : links_)
    if (auto heartbeat = std::exchange(link->received_heartbeat, std::nullopt))
      result.push_back(std::move(*heartbeat));
  if (twin_entries_.members_size() > 0) result.push_back(std::exchange(twin_entries_, {}));
  return result;
}

void LinkTable::set_estimate(const Vector& x) {
  const bool fits = (x.array().abs() < std::numeric_limits<float>::max()).all();
  const std::lock_guard lock(mutex_);
  estimate_ = fits ? Eigen::VectorXf(x.cast<float>()) : Eigen::VectorXf();
}

std::vector<std::vector<double>> LinkTable::estimates() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::vector<double>> result;
  for (const auto& [name, link] : links_)
    if (!link->estimate.empty()) result.push_back(link->estimate);
  return result;
}

void LinkTable::discard_estimates() {
  const std::lock_guard lock(mutex_);
  collect_estimates_ = false;
  for (const auto& [name, link] : links_) std::vector<double>().swap(link->estimate);
}

std::uint64_t LinkTable::newest_received_from_self() const {
  const std::lock_guard lock(mutex_);
  return newest_received_from_self_;
}

std::vector<LinkStatus> LinkTable::statuses() const {
  const std::lock_guard lock(mutex_);
  std::vector<LinkStatus> result;
  result.reserve(links_.size());
  for (const auto& [name, link] : links_)
    result.push_back({name, link->session != 0 && !link->gossips_only, link->round_trip,
                      link->counts, link->last_rejection});
  return result;
}

std::array<std::uint64_t, reject_reason_count> LinkTable::strangers_rejected() const {
  const std::lock_guard lock(mutex_);
  return strangers_rejected_;
}

void LinkTable::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (auto& [name, link] : links_) {
    link->session = 0;
    link->outgoing_ready.notify_all();
  }
  changed_.notify_all();
}

}  // namespace grove::peer
