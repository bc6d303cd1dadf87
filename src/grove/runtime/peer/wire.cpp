#include "grove/runtime/peer/wire.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <Eigen/Core>

namespace grove::peer {
namespace {

/// 0 x is 0 for finite x and NaN for all others, and Eigen sums it with vector instructions.
template <class Number>
bool all_finite(const google::protobuf::RepeatedField<Number>& values) {
  const Eigen::Map<const Eigen::ArrayX<Number>> numbers(values.data(), values.size());
  return (numbers * Number{0}).sum() == 0;
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
      "wrong_protocol",  "wrong_network",  "wrong_problem",  "wrong_name",
      "unknown_peer",    "duplicate_peer", "malformed",      "too_large",
      "wrong_dimension", "not_finite",     "stale_sequence", "absurd_sequence"};
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
  if (!all_finite(hello.estimate())) return Flaw{Refusal::not_finite, "estimate is not finite"};
  return std::nullopt;
}

std::optional<Flaw> flaw_of(const v1::Iterate& iterate, const IterateTerms& terms) {
  const int expected_doubles = terms.float32 ? 0 : static_cast<int>(terms.dimension);
  const int expected_floats = terms.float32 ? static_cast<int>(terms.dimension) : 0;
  if (iterate.values_size() != expected_doubles || iterate.rounded_size() != expected_floats)
    return Flaw{Refusal::wrong_dimension,
                fmt::format("{} doubles and {} floats, expected {} and {}", iterate.values_size(),
                            iterate.rounded_size(), expected_doubles, expected_floats)};
  if (iterate.sequence() > largest_sequence)
    return Flaw{Refusal::absurd_sequence, fmt::format("sequence {}", iterate.sequence())};
  if (iterate.sequence() <= terms.latest)
    return Flaw{Refusal::stale_sequence,
                fmt::format("sequence {} after {}", iterate.sequence(), terms.latest)};
  if (!all_finite(iterate.values()) || !all_finite(iterate.rounded()))
    return Flaw{Refusal::not_finite, "iterate is not finite"};
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
    if (!v1::Member::Phase_IsValid(member.phase()))
      return Flaw{Refusal::malformed, fmt::format("phase {}", static_cast<int>(member.phase()))};
  }
  return std::nullopt;
}

std::size_t largest_message_bytes(Index dimension) {
  constexpr std::size_t gossip = 4 << 20;
  return static_cast<std::size_t>(dimension) * sizeof(double) + gossip;
}

int receive_limit_bytes(Index dimension) {
  return static_cast<int>(
      std::min<std::size_t>(2 * largest_message_bytes(dimension), std::numeric_limits<int>::max()));
}

std::span<const double> values_of(const v1::Iterate& iterate, std::vector<double>& widened) {
  if (iterate.rounded_size() == 0)
    return {iterate.values().data(), static_cast<std::size_t>(iterate.values_size())};
  widened.assign(iterate.rounded().begin(), iterate.rounded().end());
  return widened;
}

void pack(std::uint64_t sequence, std::span<const double> values, bool float32, v1::Iterate& into) {
  into.Clear();
  into.set_sequence(sequence);
  if (!float32) {
    into.mutable_values()->Add(values.begin(), values.end());
    return;
  }
  into.mutable_rounded()->Reserve(static_cast<int>(values.size()));
  for (const double value : values) into.add_rounded(static_cast<float>(value));
}

}  // namespace grove::peer
