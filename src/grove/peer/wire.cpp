#include "grove/peer/wire.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <Eigen/Core>

#include "grove/coupling/curvature_message.h"

namespace grove::peer {
namespace {

/// False for NaN, too.
template <class Number>
bool all_sane(const google::protobuf::RepeatedField<Number>& values) {
  const Eigen::Map<const Eigen::ArrayX<Number>> numbers(values.data(), values.size());
  return (numbers.abs() <=
          static_cast<Number>(std::min<double>(largest_value, std::numeric_limits<Number>::max())))
      .all();
}

/// Text of a stranger, safe to log: short, and of printable characters only.
std::string shown(std::string_view text) {
  std::string result(text.substr(0, 200));
  for (char& c : result)
    if (c < ' ' || c > '~') c = '?';
  return result;
}

}  // namespace

std::string_view name_of(Refusal refusal) {
  constexpr std::array<std::string_view, refusal_kinds> names{
      "wrong_protocol", "wrong_network",   "wrong_problem",   "wrong_name",      "unknown_peer",
      "duplicate_peer", "malformed",       "too_large",       "wrong_dimension", "not_finite",
      "stale_sequence", "absurd_sequence", "wrong_curvature", "stale_curvature"};
  return names[static_cast<std::size_t>(refusal)];
}

bool is_peer_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !name.empty() && name.size() <= longest_name && name.front() != '-' &&
         name.back() != '-' && std::ranges::all_of(name, plain);
}

std::optional<Flaw> flaw_of(const v1::Hello& hello, const HelloTerms& terms) {
  if (hello.protocol() != protocol_version)
    return Flaw{Refusal::wrong_protocol,
                fmt::format("speaks protocol {}, expected {}", hello.protocol(), protocol_version)};
  if (hello.network() != terms.network)
    return Flaw{Refusal::wrong_network, fmt::format("belongs to network '{}', expected '{}'",
                                                    shown(hello.network()), terms.network)};
  if (!is_peer_name(hello.from()) || hello.from() == terms.self || hello.to() != terms.self)
    return Flaw{Refusal::wrong_name,
                fmt::format("'{}' asks for '{}', but this is '{}'", shown(hello.from()),
                            shown(hello.to()), terms.self)};
  if (hello.fingerprint() != terms.fingerprint)
    return Flaw{Refusal::wrong_problem, fmt::format("has problem '{}', expected '{}'",
                                                    shown(hello.fingerprint()), terms.fingerprint)};
  if (hello.heard() > largest_sequence / 2)
    return Flaw{Refusal::absurd_sequence, fmt::format("heard sequence {}", hello.heard())};
  if (hello.estimate_size() != 0 && hello.estimate_size() != terms.dimension)
    return Flaw{Refusal::wrong_dimension, fmt::format("estimate of {} numbers, expected {}",
                                                      hello.estimate_size(), terms.dimension)};
  if (!all_sane(hello.estimate())) return Flaw{Refusal::not_finite, "estimate is not finite"};
  return std::nullopt;
}

namespace {

/// Of an iterate where links are weighed by curvature.
std::optional<Flaw> flaw_of(const v1::Weight& weight, std::uint64_t sequence,
                            const IterateTerms& terms) {
  const auto within = [](std::int64_t version, std::int64_t least, std::uint64_t most) {
    return version >= least && (version < 0 || static_cast<std::uint64_t>(version) <= most);
  };
  if (!within(weight.version(), 0, sequence))
    return Flaw{Refusal::absurd_sequence,
                fmt::format("version {} of a curvature in iterate {}", weight.version(), sequence)};
  if (!within(weight.of_yours(), CurvatureMessage::none, terms.latest_own))
    return Flaw{Refusal::absurd_sequence,
                fmt::format("version {} of this peer's curvature", weight.of_yours())};
  if (!std::isfinite(weight.hops()) || !std::isfinite(weight.depth()))
    return Flaw{Refusal::not_finite, "distances are not finite"};
  if (weight.has_curvature() && weight.version() < terms.latest_version)
    return Flaw{Refusal::stale_curvature, fmt::format("curvature of version {} after {}",
                                                      weight.version(), terms.latest_version)};
  return std::nullopt;
}

v1::Curvature::Kind kind_of(CurvatureShape shape) {
  switch (shape) {
    case CurvatureShape::scalar:
      return v1::Curvature::SCALAR;
    case CurvatureShape::diagonal:
      return v1::Curvature::DIAGONAL;
    case CurvatureShape::low_rank:
      return v1::Curvature::LOW_RANK;
    case CurvatureShape::full:
      break;
  }
  return v1::Curvature::FULL;
}

}  // namespace

std::optional<Flaw> flaw_of(const v1::Iterate& iterate, const IterateTerms& terms) {
  if (iterate.has_weight() != terms.shape.curvature.has_value())
    return Flaw{Refusal::wrong_curvature, terms.shape.curvature
                                              ? "no versions of the link's curvatures"
                                              : "links here are weighed by a number"};
  const bool no_values = iterate.has_weight() && iterate.weight().of_yours() < 0;
  const int expected = no_values ? 0 : static_cast<int>(terms.shape.dimension);
  const int doubles = terms.float32 ? 0 : expected, floats = terms.float32 ? expected : 0;
  if (iterate.values_size() != doubles || iterate.rounded_size() != floats)
    return Flaw{Refusal::wrong_dimension,
                fmt::format("{} doubles and {} floats, expected {} and {}", iterate.values_size(),
                            iterate.rounded_size(), doubles, floats)};
  if (iterate.sequence() > largest_sequence)
    return Flaw{Refusal::absurd_sequence, fmt::format("sequence {}", iterate.sequence())};
  if (iterate.sequence() <= terms.latest)
    return Flaw{Refusal::stale_sequence,
                fmt::format("sequence {} after {}", iterate.sequence(), terms.latest)};
  if (!all_sane(iterate.values()) || !all_sane(iterate.rounded()))
    return Flaw{Refusal::not_finite, "iterate is not finite"};
  if (iterate.has_weight()) return flaw_of(iterate.weight(), iterate.sequence(), terms);
  return std::nullopt;
}

std::optional<Flaw> flaw_of(const v1::Curvature& curvature, const LinkShape& shape) {
  if (!shape.curvature || curvature.kind() != kind_of(shape.curvature->shape) ||
      curvature.rank() != static_cast<std::uint64_t>(shape.curvature->rank))
    return Flaw{Refusal::wrong_curvature,
                fmt::format("curvature of kind {} and rank {}", static_cast<int>(curvature.kind()),
                            curvature.rank())};
  const std::size_t expected = shape.curvature->floats(shape.dimension);
  const auto size = static_cast<std::size_t>(curvature.numbers_size());
  if (size != expected)
    return Flaw{Refusal::wrong_dimension,
                fmt::format("curvature of {} numbers, expected {}", size, expected)};
  if (!Curvature::sound(*shape.curvature, shape.dimension, {curvature.numbers().data(), size}))
    return Flaw{Refusal::wrong_curvature, "curvature is not positive definite"};
  return std::nullopt;
}

std::optional<Flaw> flaw_of(const v1::Heartbeat& heartbeat) {
  if (static_cast<std::size_t>(heartbeat.members_size()) > most_members)
    return Flaw{Refusal::malformed, fmt::format("{} members", heartbeat.members_size())};
  std::set<std::string_view> seen;
  for (const v1::Member& member : heartbeat.members()) {
    if (!is_peer_name(member.name()) || !seen.insert(member.name()).second)
      return Flaw{Refusal::malformed, fmt::format("member '{}'", shown(member.name()))};
    if (member.beat() > largest_sequence)
      return Flaw{Refusal::absurd_sequence, fmt::format("beat {}", member.beat())};
    // A peer that has not worked yet has an infinite residual.
    if (std::isnan(member.residual()) || member.residual() < 0)
      return Flaw{Refusal::not_finite, fmt::format("residual of {}", member.name())};
    if (!std::isfinite(member.step_seconds()) || member.step_seconds() < 0)
      return Flaw{Refusal::not_finite, fmt::format("step_seconds of {}", member.name())};
    if (!v1::Member::Phase_IsValid(member.phase()))
      return Flaw{Refusal::malformed, fmt::format("phase {}", static_cast<int>(member.phase()))};
  }
  return std::nullopt;
}

std::size_t largest_message_bytes(const LinkShape& shape) {
  constexpr std::size_t gossip = 4 << 20;
  const std::size_t curvature =
      shape.curvature ? shape.curvature->floats(shape.dimension) * sizeof(float) : 0;
  return static_cast<std::size_t>(shape.dimension) * sizeof(double) + curvature + gossip;
}

int receive_limit_bytes(const LinkShape& shape) {
  return static_cast<int>(
      std::min<std::size_t>(2 * largest_message_bytes(shape), std::numeric_limits<int>::max()));
}

namespace {

void pack_weight(double depth_word, const CurvatureMessage& told, const LinkShape& shape,
                 v1::Weight& into) {
  const auto [hops, depth] = std::bit_cast<std::array<float, 2>>(depth_word);
  into.set_hops(hops);
  into.set_depth(depth);
  into.set_version(told.version);
  into.set_of_yours(told.of_yours);
  into.set_digest(told.digest);
  into.set_digest_of_yours(told.digest_of_yours);
  if (told.curvature.empty()) return;
  v1::Curvature& curvature = *into.mutable_curvature();
  curvature.set_kind(kind_of(shape.curvature->shape));
  curvature.set_rank(static_cast<std::uint32_t>(shape.curvature->rank));
  curvature.mutable_numbers()->Resize(static_cast<int>(shape.curvature->floats(shape.dimension)),
                                      0);
  std::memcpy(curvature.mutable_numbers()->mutable_data(), told.curvature.data(),
              static_cast<std::size_t>(curvature.numbers_size()) * sizeof(float));
}

}  // namespace

std::span<const double> pack_but_values(const Message& message, const LinkShape& shape,
                                        v1::Iterate& into) {
  into.Clear();
  into.set_sequence(message.sequence);
  if (!shape.curvature) return message.payload;
  const auto told = CurvatureMessage::read(message.payload.subspan(1), shape.dimension);
  assert(told);
  pack_weight(message.payload[0], *told, shape, *into.mutable_weight());
  return told->vector;
}

void pack(const Message& message, const LinkShape& shape, bool float32, v1::Iterate& into) {
  const std::span<const double> values = pack_but_values(message, shape, into);
  if (!float32) {
    into.mutable_values()->Add(values.begin(), values.end());
    return;
  }
  into.mutable_rounded()->Reserve(static_cast<int>(values.size()));
  for (const double value : values) into.add_rounded(static_cast<float>(value));
}

std::span<const double> payload_of(const v1::Iterate& iterate, const LinkShape& shape,
                                   std::vector<double>& buffer) {
  const std::span values(iterate.values().data(), static_cast<std::size_t>(iterate.values_size()));
  if (!shape.curvature && iterate.rounded_size() == 0) return values;
  buffer.clear();
  if (shape.curvature) {
    const v1::Weight& weight = iterate.weight();
    buffer.push_back(std::bit_cast<double>(std::array{weight.hops(), weight.depth()}));
    CurvatureMessage{.version = weight.version(),
                     .of_yours = weight.of_yours(),
                     .digest = weight.digest(),
                     .digest_of_yours = weight.digest_of_yours()}
        .append_to(buffer);
  }
  buffer.insert(buffer.end(), values.begin(), values.end());
  buffer.insert(buffer.end(), iterate.rounded().begin(), iterate.rounded().end());
  if (const auto& numbers = iterate.weight().curvature().numbers(); !numbers.empty()) {
    const std::size_t before = buffer.size();
    buffer.resize(before + shape.curvature->words(shape.dimension));
    std::memcpy(buffer.data() + before, numbers.data(),
                static_cast<std::size_t>(numbers.size()) * sizeof(float));
  }
  return buffer;
}

void keep_curvature(v1::Iterate& older, v1::Iterate& newer) {
  if (!older.weight().has_curvature() || newer.weight().has_curvature() ||
      older.weight().version() != newer.weight().version())
    return;
  newer.mutable_weight()->mutable_curvature()->Swap(older.mutable_weight()->mutable_curvature());
}

}  // namespace grove::peer
