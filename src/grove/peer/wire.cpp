#include "grove/peer/wire.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>
#include <Eigen/Core>

#include "grove/base/printable.h"
#include "grove/base/text.h"
#include "grove/coupling/sparse_weight.h"
#include "grove/peer/wire_sums.h"
#include "grove/sums/masks.h"

namespace grove::peer {
namespace {

constexpr int max_settings = 64;
constexpr std::size_t max_entry_bytes = 1 << 10;

/// Returns false for NaN as well.
template <class Number>
bool all_in_range(const google::protobuf::RepeatedField<Number>& values) {
  const Eigen::Map<const Eigen::ArrayX<Number>> numbers(values.data(), values.size());
  return (numbers.abs() <=
          static_cast<Number>(std::min<double>(max_value, std::numeric_limits<Number>::max())))
      .all();
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr std::size_t characters = 200;
  return grove::printable(text, characters);
}

std::string_view name_of(RejectReason reason) {
  constexpr std::array<std::string_view, reject_reason_count> names{
      "wrong_protocol",    "wrong_network",     "wrong_problem",  "wrong_name",
      "unknown_peer",      "duplicate_peer",    "malformed",      "too_large",
      "wrong_dimension",   "not_finite",        "stale_sequence", "absurd_sequence",
      "wrong_link_weight", "stale_link_weight", "beyond_bound"};
  return names[static_cast<std::size_t>(reason)];
}

bool is_peer_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return name.size() <= max_name_length && std::ranges::all_of(split(name, '.'), [&](auto label) {
           return !label.empty() && label.front() != '-' && label.back() != '-' &&
                  std::ranges::all_of(label, plain);
         });
}

Schema schema_of(const v1::Hello& hello) {
  Schema schema;
  for (const v1::Setting& setting : hello.schema())
    schema.push_back({setting.key(), setting.value()});
  return schema;
}

void set_schema(const Schema& schema, v1::Hello& hello) {
  for (const auto& [key, value] : schema) {
    v1::Setting& setting = *hello.add_schema();
    setting.set_key(key);
    setting.set_value(value);
  }
}

namespace {

/// The detail names both peers, because both ends read it.
std::optional<Violation> validate_schema(const v1::Hello& hello, const ExpectedHello& expected) {
  if (hello.schema_size() > max_settings)
    return Violation{RejectReason::malformed, fmt::format("{} settings", hello.schema_size())};
  const auto difference = first_difference(expected.schema, schema_of(hello));
  if (!difference) return std::nullopt;
  return Violation{RejectReason::wrong_problem,
                   fmt::format("{} is '{}' at {} and '{}' at {}", printable(difference->key),
                               printable(difference->other), hello.from(),
                               printable(difference->own), expected.self)};
}

std::string text_of(ProtocolRange range) {
  return range.oldest == range.newest ? std::to_string(range.newest)
                                      : fmt::format("{} to {}", range.oldest, range.newest);
}

/// A hello without an oldest protocol is of a program that knows one.
std::optional<Violation> validate_protocol(const v1::Hello& hello, ProtocolRange own) {
  const ProtocolRange other{
      .oldest = hello.oldest_protocol() == 0 ? hello.protocol() : hello.oldest_protocol(),
      .newest = hello.protocol()};
  const std::uint32_t common = std::min(own.newest, other.newest);
  if (common >= own.oldest && common >= other.oldest) return std::nullopt;
  return Violation{RejectReason::wrong_protocol,
                   fmt::format("uses protocol {}, expected {}", text_of(other), text_of(own))};
}

}  // namespace

std::optional<Violation> validate(const v1::Hello& hello, const ExpectedHello& expected) {
  if (auto violation = validate_protocol(hello, expected.protocols)) return violation;
  if (hello.network() != expected.network)
    return Violation{RejectReason::wrong_network,
                     fmt::format("belongs to network '{}', expected '{}'",
                                 printable(hello.network()), expected.network)};
  if (!is_peer_name(hello.from()) || hello.from() == expected.self || hello.to() != expected.self)
    return Violation{RejectReason::wrong_name,
                     fmt::format("'{}' asks for '{}', but this is '{}'", printable(hello.from()),
                                 printable(hello.to()), expected.self)};
  if (auto violation = validate_schema(hello, expected)) return violation;
  if (hello.last_received() > max_sequence / 2)
    return Violation{RejectReason::absurd_sequence,
                     fmt::format("last received sequence {}", hello.last_received())};
  if (hello.estimate_size() != 0 && hello.estimate_size() != expected.dimension &&
      same_encoding(expected.schema, schema_of(hello)))
    return Violation{RejectReason::wrong_dimension,
                     fmt::format("estimate of {} numbers, expected {}", hello.estimate_size(),
                                 expected.dimension)};
  if (!all_in_range(hello.estimate()))
    return Violation{RejectReason::not_finite, "estimate is not finite"};
  return std::nullopt;
}

namespace {

std::optional<Violation> validate(const v1::WeightHeader& weight, std::uint64_t sequence,
                                  const ExpectedIterate& expected) {
  const std::int64_t least = expected.shape.sparse() ? WeightId::none : 0;
  const auto within = [](std::int64_t version, std::int64_t low, std::uint64_t high) {
    return version >= low && (version < 0 || static_cast<std::uint64_t>(version) <= high);
  };
  if (weight.has_update() && !within(update_version(weight), 0, sequence))
    return Violation{RejectReason::absurd_sequence,
                     fmt::format("version {} of a new link weight in iterate {}",
                                 update_version(weight), sequence)};
  if (!within(weight.sender_version(), least, sequence))
    return Violation{RejectReason::absurd_sequence,
                     fmt::format("version {} of a link weight in iterate {}",
                                 weight.sender_version(), sequence)};
  if (!within(weight.receiver_version(), WeightId::none, expected.newest_own_sequence))
    return Violation{
        RejectReason::absurd_sequence,
        fmt::format("version {} of this peer's link weight", weight.receiver_version())};
  if (!std::isfinite(weight.hops_from_root()) || !std::isfinite(weight.depth()))
    return Violation{RejectReason::not_finite, "hop counts are not finite"};
  if (weight.has_update() && update_version(weight) < expected.last_weight_version)
    return Violation{RejectReason::stale_link_weight,
                     fmt::format("link weight of version {} after {}", update_version(weight),
                                 expected.last_weight_version)};
  return std::nullopt;
}

v1::LinkWeight::Kind kind_of(LinkWeightShape shape) {
  switch (shape) {
    case LinkWeightShape::scalar:
      return v1::LinkWeight::SCALAR;
    case LinkWeightShape::diagonal:
      return v1::LinkWeight::DIAGONAL;
    case LinkWeightShape::low_rank:
      return v1::LinkWeight::LOW_RANK;
    case LinkWeightShape::sparse:
      return v1::LinkWeight::SPARSE;
    case LinkWeightShape::full:
      break;
  }
  return v1::LinkWeight::FULL;
}

}  // namespace

namespace {

/// As many numbers as indices, which ascend.
std::optional<Violation> validate_indices(const v1::Iterate& iterate,
                                          const ExpectedIterate& expected) {
  const auto& indices = iterate.indices();
  const auto count = expected.shape.sparse() ? indices.size() : 0;
  if (indices.size() != count || count > expected.shape.dimension)
    return Violation{RejectReason::wrong_dimension, fmt::format("{} indices", indices.size())};
  for (int k = 0; k < count; ++k)
    if (indices[k] >= static_cast<std::uint64_t>(expected.shape.dimension) ||
        (k > 0 && indices[k] <= indices[k - 1]))
      return Violation{RejectReason::malformed, fmt::format("index {}", indices[k])};
  return std::nullopt;
}

}  // namespace

std::optional<Violation> validate(const v1::Iterate& iterate, const ExpectedIterate& expected) {
  if (iterate.has_weights() != expected.shape.weight.has_value())
    return Violation{RejectReason::wrong_link_weight, expected.shape.weight
                                                          ? "expected versions of the link weights"
                                                          : "expected no link weights"};
  if (iterate.has_sums() ? !expected.shape.sums : !expected.shape.vectors)
    return Violation{RejectReason::malformed, expected.shape.sums
                                                  ? "expected fields of the sum service"
                                                  : "expected no fields of the sum service"};
  const bool no_vector = !expected.shape.vectors ||
                         (iterate.has_weights() && iterate.weights().receiver_version() < 0);
  if (auto violation = validate_indices(iterate, expected)) return violation;
  const int whole =
      expected.shape.sparse() ? iterate.indices_size() : static_cast<int>(expected.shape.dimension);
  const int size = no_vector ? 0 : whole;
  const int doubles = expected.float32 ? 0 : size, floats = expected.float32 ? size : 0;
  if (iterate.vector_size() != doubles || iterate.rounded_vector_size() != floats)
    return Violation{
        RejectReason::wrong_dimension,
        fmt::format("{} doubles and {} floats, expected {} and {}", iterate.vector_size(),
                    iterate.rounded_vector_size(), doubles, floats)};
  if (iterate.sequence() > max_sequence)
    return Violation{RejectReason::absurd_sequence, fmt::format("sequence {}", iterate.sequence())};
  if (iterate.sequence() <= expected.last_sequence)
    return Violation{
        RejectReason::stale_sequence,
        fmt::format("sequence {} after {}", iterate.sequence(), expected.last_sequence)};
  if (!all_in_range(iterate.vector()) || !all_in_range(iterate.rounded_vector()))
    return Violation{RejectReason::not_finite, "iterate is not finite"};
  if (iterate.has_weights())
    if (auto violation = validate(iterate.weights(), iterate.sequence(), expected))
      return violation;
  return iterate.has_sums() ? validate(iterate.sums(), expected.shape) : std::nullopt;
}

std::int64_t update_version(const v1::WeightHeader& weights) {
  return weights.update().kind() == v1::LinkWeight::SPARSE ? weights.update().version()
                                                           : weights.sender_version();
}

namespace {

SparseFields sparse_fields(const v1::LinkWeight& weight) {
  const std::string& codes = weight.codes();
  const auto& support = weight.support();
  return {.indices = {},
          .codes = {reinterpret_cast<const std::uint8_t*>(codes.data()), codes.size()},
          .support = {support.data(), static_cast<std::size_t>(support.size())},
          .update = {weight.version(), weight.digest()}};
}

std::span<const float> numbers_of(const v1::LinkWeight& weight) {
  return {weight.numbers().data(), static_cast<std::size_t>(weight.numbers_size())};
}

std::optional<Violation> validate_mean(double mean, const LinkShape& shape) {
  constexpr double rounding = 1 + 1e-5;  // of single precision
  if (mean <= rounding * shape.largest_weight) return std::nullopt;
  return Violation{RejectReason::beyond_bound,
                   fmt::format("link weight of mean {:.3g}; feature-bound allows {:.3g}", mean,
                               shape.largest_weight)};
}

std::optional<Violation> validate_sparse(const v1::LinkWeight& weight, const LinkShape& shape) {
  const auto numbers = numbers_of(weight);
  const SparseFields fields = sparse_fields(weight);
  const SparseWeight parsed = SparseWeight::from_message(shape.dimension, numbers, fields);
  if (!parsed.known())
    return Violation{RejectReason::wrong_dimension,
                     fmt::format("sparse link weight of {} codes, {} coordinates and {} numbers",
                                 fields.codes.size(), fields.support.size(), numbers.size())};
  if (!SparseWeight::is_positive_definite(shape.dimension, numbers, fields))
    return Violation{RejectReason::wrong_link_weight, "link weight is not positive definite"};
  return validate_mean(parsed.mean_diagonal(), shape);
}

}  // namespace

std::optional<Violation> validate(const v1::LinkWeight& weight, const LinkShape& shape) {
  if (!shape.weight || weight.kind() != kind_of(shape.weight->shape) ||
      weight.rank() != static_cast<std::uint64_t>(shape.weight->rank))
    return Violation{RejectReason::wrong_link_weight,
                     fmt::format("link weight of kind {} and rank {}",
                                 static_cast<int>(weight.kind()), weight.rank())};
  if (shape.sparse()) return validate_sparse(weight, shape);
  const std::size_t expected = shape.weight->numbers(shape.dimension);
  const auto size = static_cast<std::size_t>(weight.numbers_size());
  if (size != expected)
    return Violation{RejectReason::wrong_dimension,
                     fmt::format("link weight of {} numbers, expected {}", size, expected)};
  const std::span numbers(weight.numbers().data(), size);
  if (!LinkWeight::is_positive_definite(*shape.weight, shape.dimension, numbers))
    return Violation{RejectReason::wrong_link_weight, "link weight is not positive definite"};
  return validate_mean(LinkWeight::mean_diagonal(*shape.weight, shape.dimension, numbers), shape);
}

std::optional<v1::Member> parse_member(const v1::SignedMember& entry) {
  v1::Member member;
  if (entry.member().size() > max_entry_bytes || !member.ParseFromString(entry.member()))
    return std::nullopt;
  return member;
}

void keep_certificates(v1::Heartbeat& older, v1::Heartbeat& newer) {
  std::map<std::string, std::string> certificates;
  for (v1::SignedMember& entry : *older.mutable_members()) {
    if (entry.certificate().empty()) continue;
    if (auto member = parse_member(entry))
      certificates[member->name()] = std::move(*entry.mutable_certificate());
  }
  if (certificates.empty()) return;
  for (v1::SignedMember& entry : *newer.mutable_members()) {
    if (!entry.certificate().empty()) continue;
    const auto member = parse_member(entry);
    if (!member) continue;
    if (const auto found = certificates.find(member->name()); found != certificates.end())
      entry.set_certificate(std::move(found->second));
  }
}

namespace {

std::optional<Violation> validate(const v1::Member& member) {
  if (!is_peer_name(member.name()))
    return Violation{RejectReason::malformed, fmt::format("member '{}'", printable(member.name()))};
  if (member.heartbeats() > max_sequence || member.epoch() > epoch_of(max_sequence))
    return Violation{RejectReason::absurd_sequence,
                     fmt::format("heartbeat {} and epoch {}", member.heartbeats(), member.epoch())};
  // A peer that has not worked yet has an infinite residual.
  if (std::isnan(member.residual()) || member.residual() < 0)
    return Violation{RejectReason::not_finite, fmt::format("residual of {}", member.name())};
  if (!std::isfinite(member.step_seconds()) || member.step_seconds() < 0)
    return Violation{RejectReason::not_finite, fmt::format("step_seconds of {}", member.name())};
  if (!member.sum_key().empty() && member.sum_key().size() != sizeof(MaskKey))
    return Violation{RejectReason::malformed, fmt::format("sum_key of {}", member.name())};
  if (!v1::Member::Phase_IsValid(member.phase()))
    return Violation{RejectReason::malformed,
                     fmt::format("phase {}", static_cast<int>(member.phase()))};
  return std::nullopt;
}

}  // namespace

std::optional<Violation> validate(const v1::Heartbeat& heartbeat) {
  if (static_cast<std::size_t>(heartbeat.members_size()) > max_members)
    return Violation{RejectReason::malformed, fmt::format("{} members", heartbeat.members_size())};
  if (static_cast<std::size_t>(heartbeat.contributions_size()) > max_members)
    return Violation{RejectReason::malformed,
                     fmt::format("{} contributions", heartbeat.contributions_size())};
  if (static_cast<std::size_t>(heartbeat.fits_size()) > max_members)
    return Violation{RejectReason::malformed, fmt::format("{} parts", heartbeat.fits_size())};
  for (const double time : {heartbeat.sent_at(), heartbeat.echo(), heartbeat.echo_seconds()})
    if (!std::isfinite(time)) return Violation{RejectReason::not_finite, "times of a heartbeat"};
  std::set<std::pair<std::string, std::uint64_t>> seen;
  for (const v1::SignedMember& entry : heartbeat.members()) {
    const auto member = parse_member(entry);
    if (!member) return Violation{RejectReason::malformed, "an entry of a member"};
    if (auto violation = validate(*member)) return violation;
    if (!seen.emplace(member->name(), member->process()).second)
      return Violation{RejectReason::malformed, fmt::format("member '{}'", member->name())};
  }
  return std::nullopt;
}

std::size_t number_bytes(const LinkShape& shape) {
  constexpr std::size_t index = 5;  // as a varint, at most
  const std::size_t weight =
      shape.weight ? shape.weight->numbers(shape.dimension) * sizeof(float) : 0;
  return static_cast<std::size_t>(shape.dimension) *
             (sizeof(double) + (shape.sparse() ? index : 0)) +
         weight;
}

std::size_t max_message_bytes(const LinkShape& shape) {
  constexpr std::size_t heartbeat = 4 << 20;
  return number_bytes(shape) + heartbeat + (shape.sums ? max_sums_bytes(shape) : 0) +
         (shape.fits ? max_fit_bytes : 0);
}

int receive_limit_bytes(const LinkShape& shape) {
  return static_cast<int>(
      std::min<std::size_t>(2 * max_message_bytes(shape), std::numeric_limits<int>::max()));
}

namespace {

void encode_weights(const Message& message, const LinkShape& shape, v1::WeightHeader& into) {
  const HopCounts hops = message.hops.value_or(HopCounts{});
  into.set_hops_from_root(hops.from_root);
  into.set_depth(hops.depth);
  into.set_sender_version(message.weights->sender.version);
  into.set_sender_digest(message.weights->sender.digest);
  into.set_receiver_version(message.weights->receiver.version);
  into.set_receiver_digest(message.weights->receiver.digest);
  if (message.weight_update.empty()) return;
  v1::LinkWeight& update = *into.mutable_update();
  update.set_kind(kind_of(shape.weight->shape));
  update.set_rank(static_cast<std::uint32_t>(shape.weight->rank));
  update.mutable_numbers()->Add(message.weight_update.begin(), message.weight_update.end());
  if (!message.sparse) return;
  const SparseFields& sparse = *message.sparse;
  update.set_codes(sparse.codes.data(), sparse.codes.size());
  update.mutable_support()->Add(sparse.support.begin(), sparse.support.end());
  update.set_version(sparse.update.version);
  update.set_digest(sparse.update.digest);
}

}  // namespace

v1::Iterate encode(const Message& message, const LinkShape& shape, bool float32) {
  v1::Iterate iterate;
  iterate.set_sequence(message.sequence);
  if (shape.weight) encode_weights(message, shape, *iterate.mutable_weights());
  if (float32)
    iterate.mutable_rounded_vector()->Add(message.vector.begin(), message.vector.end());
  else
    iterate.mutable_vector()->Add(message.vector.begin(), message.vector.end());
  if (message.sparse)
    iterate.mutable_indices()->Add(message.sparse->indices.begin(), message.sparse->indices.end());
  if (message.tree) *iterate.mutable_sums() = encode(*message.tree);
  return iterate;
}

Message decode(const v1::Iterate& iterate, const LinkShape& shape, std::vector<double>& buffer) {
  Message message{.sequence = iterate.sequence()};
  message.vector = {iterate.vector().data(), static_cast<std::size_t>(iterate.vector_size())};
  if (iterate.rounded_vector_size() > 0) {
    buffer.assign(iterate.rounded_vector().begin(), iterate.rounded_vector().end());
    message.vector = buffer;
  }
  if (iterate.has_sums()) message.tree = decode(iterate.sums());
  if (!iterate.has_weights()) return message;
  const v1::WeightHeader& weights = iterate.weights();
  message.hops = {.from_root = weights.hops_from_root(), .depth = weights.depth()};
  message.weights = {.sender = {weights.sender_version(), weights.sender_digest()},
                     .receiver = {weights.receiver_version(), weights.receiver_digest()}};
  message.weight_update = numbers_of(weights.update());
  if (!shape.sparse()) return message;
  const bool updates = weights.has_update();
  message.sparse = updates ? sparse_fields(weights.update()) : SparseFields{};
  message.sparse->indices = {iterate.indices().data(),
                             static_cast<std::size_t>(iterate.indices_size())};
  return message;
}

namespace {

/// Whether the sender still has the weight that the older iterate brought. A sparse weight is sent
/// before it is used.
bool still_sent(const v1::WeightHeader& older, const v1::WeightHeader& newer) {
  if (older.update().kind() == v1::LinkWeight::SPARSE)
    return newer.sender_version() <= older.update().version();
  return older.sender_version() == newer.sender_version();
}

}  // namespace

void keep_updates(v1::Iterate& older, v1::Iterate& newer) {
  if (older.has_sums() && newer.has_sums())
    keep_items(*older.mutable_sums(), *newer.mutable_sums());
  if (!older.weights().has_update() || newer.weights().has_update() ||
      !still_sent(older.weights(), newer.weights()))
    return;
  newer.mutable_weights()->mutable_update()->Swap(older.mutable_weights()->mutable_update());
}

}  // namespace grove::peer
