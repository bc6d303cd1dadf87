#include "grove/peer/fit_gossip.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "grove/base/bytes.h"
#include "grove/data/digest.h"
#include "grove/peer/link_table.h"
#include "grove/peer/wire.h"
#include "grove/sums/exact_numbers.h"

namespace grove::peer {
namespace {

constexpr std::size_t max_parts = 1000;
constexpr int max_sums = 1000;

std::uint64_t part_digest(const std::string& bytes) {
  constexpr std::size_t digits = 16;
  Sha256 digest;
  digest.update(bytes);
  return std::stoull(digest.finish().substr(0, digits), nullptr, 16);
}

std::string text_of(const MaskKey& key) { return {key.begin(), key.end()}; }

std::optional<MaskKey> key_of(const std::string& bytes) {
  MaskKey key{};
  if (bytes.size() != key.size()) return std::nullopt;
  std::ranges::copy(bytes, key.begin());
  return key;
}

std::string next_context(const std::string& context, const Vector& total) {
  ByteWriter bytes;
  bytes.put_bytes(context);
  bytes.put(total);
  return text_of(context_of(bytes.bytes()));
}

bool same_bits(const Vector& a, const Vector& b) {
  return std::ranges::equal(a, b, [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  });
}

std::span<const double> numbers_of(const Vector& vector) {
  return {vector.data(), static_cast<std::size_t>(vector.size())};
}

}  // namespace

std::optional<v1::FitPart> parse_fit_part(const v1::SignedMember& entry) {
  v1::FitPart part;
  if (entry.member().size() > max_fit_bytes || !part.ParseFromString(entry.member()) ||
      !is_peer_name(part.name()) || part.key().size() != sizeof(MaskKey) ||
      part.sums_size() > max_sums)
    return std::nullopt;
  return part;
}

FitGossip::FitGossip(FitGossipOptions options)
    : options_(std::move(options)),
      masks_(AgentId{agent_number(options_.self)},
             {.secret = options_.secret, .public_key = [this](AgentId member, std::uint32_t) {
                for (const auto& [name, one] : parts_)
                  if (agent_number(name) == member.value) return key_of(one.part.key());
                return std::optional<MaskKey>();
              }}) {}

void FitGossip::set_summary(std::string summary) {
  v1::FitPart& own = parts_[options_.self].part;
  own.set_name(options_.self);
  own.set_process(options_.process);
  own.set_key(text_of(public_key_of(options_.secret)));
  own.set_data(options_.data);
  own.set_summary(std::move(summary));
  sign();
  advance();
}

void FitGossip::sign() {
  Part& own = parts_.at(options_.self);
  own.part.set_version(own.part.version() + 1);
  if (options_.signer != nullptr)
    own.entry = options_.signer->sign_fit_part(own.part);
  else
    own.entry.set_member(own.part.SerializeAsString());
  own.entry.clear_certificate();  // those of the members' entries serve
  held_ = 1;
  for (const auto& [name, one] : parts_) held_ += part_digest(one.entry.member());
}

void FitGossip::merge(const v1::Heartbeat& heartbeat) {
  bool news = false;
  for (const v1::SignedMember& entry : heartbeat.fits()) {
    const auto received = parse_fit_part(entry);
    if (!received || received->name() == options_.self) continue;
    const auto known = parts_.find(received->name());
    const auto age = [](const v1::FitPart& part) {
      return std::pair(part.process(), part.version());
    };
    if (known != parts_.end() ? age(*received) <= age(known->second.part)
                              : parts_.size() >= max_parts)
      continue;
    if (options_.signer != nullptr && !options_.signer->verify_fit_part(entry, received->name()))
      continue;
    if (!masks_.accepts(*key_of(received->key()))) continue;  // others would send without masks
    Part& part = parts_[received->name()];
    part = {*received, entry};
    part.entry.clear_certificate();
    news = true;
  }
  if (!news) return;
  held_ = 1;
  for (const auto& [name, one] : parts_) held_ += part_digest(one.entry.member());
  advance();
}

void FitGossip::add_to(v1::Heartbeat& heartbeat) const {
  std::size_t bytes = 0;
  for (const auto& [name, one] : parts_) {
    bytes += one.entry.ByteSizeLong();
    if (bytes > max_fit_bytes) return;
    *heartbeat.add_fits() = one.entry;
  }
}

std::string FitGossip::save() const {
  v1::FitState state;
  state.set_secret(text_of(options_.secret));
  state.set_process(options_.process);
  for (const auto& [name, one] : parts_) {
    v1::SignedMember& entry = *state.add_parts();
    entry = one.entry;
    if (options_.signer != nullptr) entry.set_certificate(options_.signer->certificate_of(name));
  }
  return state.SerializeAsString();
}

std::shared_ptr<FitGossip> resume_gossip(FitGossipOptions options, const std::string& saved) {
  auto fresh = std::make_shared<FitGossip>(options);
  v1::FitState state;
  const auto secret = state.ParseFromString(saved) ? key_of(state.secret()) : std::nullopt;
  if (!secret) return fresh;
  options.secret = *secret;
  options.process = state.process();
  auto resumed = std::make_shared<FitGossip>(options);
  v1::Heartbeat others;
  for (const v1::SignedMember& entry : state.parts()) {
    const auto part = parse_fit_part(entry);
    if (!part || part->name() != options.self)
      *others.add_fits() = entry;
    else if (part->data() == options.data && part->process() == options.process)
      resumed->parts_[options.self] = {*part, entry};
  }
  if (!resumed->parts_.contains(options.self)) return fresh;  // the table is another one
  resumed->merge(others);
  return resumed;
}

std::vector<std::string> FitGossip::names() const {
  std::vector<std::string> result;
  for (const auto& [name, one] : parts_) result.push_back(name);
  return result;
}

std::optional<std::map<std::string, std::string>> FitGossip::summaries() const {
  if (parts_.size() < options_.expected) return std::nullopt;
  std::map<std::string, std::string> result;
  for (const auto& [name, one] : parts_) result[name] = one.part.summary();
  return result;
}

std::size_t FitGossip::begin_sum(Vector own) {
  series_.push_back({std::move(own), {}});
  advance();
  return series_.size() - 1;
}

std::optional<Vector> FitGossip::total(std::size_t sum) const { return series_[sum].total; }

void FitGossip::begin_last_sum(const std::string& about, const std::vector<std::string>& members,
                               Vector own) {
  last_ = LastSum{about, members, {std::move(own), {}}};
  advance();
}

std::optional<Vector> FitGossip::last_total() const {
  return last_ ? last_->sum.total : std::nullopt;
}

void FitGossip::restart() {
  series_.clear();
  last_.reset();
  agreed_summaries_.clear();
  changed_ = false;
}

/// Of the members, their keys and their tables.
std::string FitGossip::first_context(const std::vector<std::string>& members) const {
  ByteWriter bytes;
  bytes.put_bytes("grove-fit/1");
  bytes.put_bytes(options_.network);
  bytes.put_bytes(options_.settings);
  for (const std::string& name : members) {
    const auto found = parts_.find(name);
    if (found == parts_.end()) return {};
    const v1::FitPart& part = found->second.part;
    for (const std::string& text : {part.name(), part.key(), part.data(), part.summary()})
      bytes.put_bytes(text);
  }
  return text_of(context_of(bytes.bytes()));
}

const v1::FitNumbers* FitGossip::numbers_of(const std::string& member,
                                            const std::string& context) const {
  for (const v1::FitNumbers& numbers : parts_.at(member).part.sums())
    if (numbers.context() == context) return &numbers;
  return nullptr;
}

/// This member's numbers as all others see them. No words: they did not fit.
v1::FitNumbers FitGossip::masked(const std::string& context,
                                 const std::vector<std::string>& members, const Vector& own) const {
  if (const v1::FitNumbers* before = numbers_of(options_.self, context)) return *before;
  v1::FitNumbers result;
  result.set_context(context);
  const ExactNumbers exact(static_cast<std::size_t>(own.size()), members.size());
  auto words = exact.encode(peer::numbers_of(own));
  if (!words) return result;
  std::vector<MaskedMember> masked;
  for (const std::string& name : members) masked.push_back({.id = AgentId{agent_number(name)}});
  std::ranges::sort(masked, {}, &MaskedMember::id);
  if (members.size() >= fewest_masked_members) {
    if (!masks_.ready_for(masked)) return result;
    masks_.add(masked, *key_of(context), exact.shape(), *words);
  }
  result.mutable_words()->Add(words->begin(), words->end());
  return result;
}

/// Nothing while the numbers of a member are not there.
std::optional<Vector> FitGossip::add_up(const std::string& context,
                                        const std::vector<std::string>& members,
                                        const v1::FitNumbers& own, Index size) const {
  const ExactNumbers exact(static_cast<std::size_t>(size), members.size());
  std::vector<std::uint64_t> sum(exact.shape().words());
  bool fits = true;
  for (const std::string& name : members) {
    const v1::FitNumbers* numbers = name == options_.self ? &own : numbers_of(name, context);
    if (numbers == nullptr) return std::nullopt;
    const std::span<const std::uint64_t> words(numbers->words().data(),
                                               static_cast<std::size_t>(numbers->words_size()));
    if (words.size() == sum.size())
      add_words(exact.shape(), words, sum);
    else
      fits = false;
  }
  if (!fits) return Vector::Constant(size, std::numeric_limits<double>::quiet_NaN());
  const std::vector<double> total = exact.decode(sum);
  return Eigen::Map<const Vector>(total.data(), size);
}

/// Works out what this member owes under the present parts, and adds up what is complete.
void FitGossip::advance() {
  const auto present = summaries();
  if (!present || !parts_.contains(options_.self)) return;
  if (agreed_summaries_.empty()) agreed_summaries_ = *present;
  changed_ = changed_ || agreed_summaries_ != *present;
  if (changed_) return;
  std::vector<v1::FitNumbers> owed;
  const auto add = [&](const std::string& context, const std::vector<std::string>& members,
                       Sum& sum) {
    owed.push_back(masked(context, members, sum.own));
    const auto total = add_up(context, members, owed.back(), sum.own.size());
    if (!total) return false;
    if (sum.total && !same_bits(*sum.total, *total)) return !(changed_ = true);
    sum.total = total;
    return true;
  };
  const std::vector<std::string> members = names();
  std::string context = first_context(members);
  for (Sum& sum : series_) {
    if (!add(context, members, sum)) break;
    context = next_context(context, *sum.total);
  }
  if (last_ && !changed_)
    if (const std::string first = first_context(last_->members); !first.empty())
      add(text_of(context_of(first + "\nlast\n" + last_->about)), last_->members, last_->sum);
  publish(owed);
}

void FitGossip::publish(const std::vector<v1::FitNumbers>& owed) {
  v1::FitPart& own = parts_.at(options_.self).part;
  const bool same =
      std::ranges::equal(owed, own.sums(), {}, &v1::FitNumbers::context, &v1::FitNumbers::context);
  if (same) return;
  own.clear_sums();
  for (const v1::FitNumbers& numbers : owed) *own.add_sums() = numbers;
  sign();
}

}  // namespace grove::peer
