#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grove/agent/message.h"
#include "grove/base/types.h"
#include "grove/coupling/curvature.h"
#include "grove/peer/peer.pb.h"

namespace grove::peer {

constexpr std::uint32_t protocol_version = 2;
/// Sequence numbers are (life << 32) + activation of that life.
constexpr int life_bits = 32;
constexpr std::uint64_t life_of(std::uint64_t sequence) { return sequence >> life_bits; }
constexpr std::uint64_t next_life(std::uint64_t sequence) {
  return (life_of(sequence) + 1) << life_bits;
}
constexpr std::uint64_t largest_sequence = std::uint64_t{1} << 62;
/// A neighbour may remember a later life of this peer than it does, but not a million lives later.
constexpr std::uint64_t farthest_jump = std::uint64_t{1} << 52;
/// Beyond it sums of squares overflow: no iterate of a sane run, and refused like infinity.
constexpr double largest_value = 1e100;
constexpr std::size_t most_members = 100'000;
constexpr std::size_t longest_name = 63;

/// Why a message was refused. Refused messages are counted and never change state.
enum class Refusal {
  wrong_protocol,
  wrong_network,
  wrong_problem,
  wrong_name,
  unknown_peer,
  duplicate_peer,
  malformed,
  too_large,
  wrong_dimension,
  not_finite,
  stale_sequence,
  absurd_sequence,
  wrong_curvature,
  stale_curvature,
};
constexpr std::size_t refusal_kinds = 14;
std::string_view name_of(Refusal refusal);

/// Names are what certificates carry: lower-case letters, digits and inner hyphens, as in DNS.
bool is_peer_name(std::string_view name);

/// What the messages of a network are made of.
struct LinkShape {
  LinkShape(Index coefficients = 0, std::optional<CurvatureForm> form = {})
      : dimension(coefficients), curvature(form) {}

  Index dimension;
  std::optional<CurvatureForm> curvature;  ///< none: links are weighed by a number
};

/// What this peer expects of a neighbour's hello.
struct HelloTerms {
  std::string_view network;
  std::string_view self;
  std::string_view fingerprint;
  Index dimension = 0;
};

/// A refused message, and in words what was wrong with it.
struct Flaw {
  Refusal refusal;
  std::string detail;
};

std::optional<Flaw> flaw_of(const v1::Hello& hello, const HelloTerms& terms);

/// What this peer expects of a neighbour's iterates.
struct IterateTerms {
  LinkShape shape;
  bool float32 = false;              ///< agreed in the hellos
  std::uint64_t latest = 0;          ///< newest sequence accepted on this link
  std::uint64_t latest_own = 0;      ///< newest sequence that can have been heard from this peer
  std::int64_t latest_version = -1;  ///< of the newest curvature accepted on this link
};
/// All but the numbers of a curvature.
std::optional<Flaw> flaw_of(const v1::Iterate& iterate, const IterateTerms& terms);

/// The form and the numbers; for a full matrix that takes a factorization.
std::optional<Flaw> flaw_of(const v1::Curvature& curvature, const LinkShape& shape);

std::optional<Flaw> flaw_of(const v1::Heartbeat& heartbeat);

/// No honest message of such a network is longer.
std::size_t largest_message_bytes(const LinkShape& shape);
/// What gRPC may read at all. Up to here a message that is too large is counted as such; beyond, it
/// is not even read and the stream ends.
int receive_limit_bytes(const LinkShape& shape);

/// An agent's message as it travels: all but the values of the iterate, which are returned, or all.
std::span<const double> pack_but_values(const Message& message, const LinkShape& shape,
                                        v1::Iterate& into);
void pack(const Message& message, const LinkShape& shape, bool float32, v1::Iterate& into);
/// And back: the payload is that of the iterate, or `buffer`.
std::span<const double> payload_of(const v1::Iterate& iterate, const LinkShape& shape,
                                   std::vector<double>& buffer);

/// Of iterates that were not taken up only the newest is kept. A curvature told in an older one
/// goes with it, for its sender will not soon tell it again.
void keep_curvature(v1::Iterate& older, v1::Iterate& newer);

}  // namespace grove::peer
