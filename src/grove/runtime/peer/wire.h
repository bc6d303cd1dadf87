#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grove/base/types.h"
#include "grove/runtime/peer/peer.pb.h"

namespace grove::peer {

constexpr std::uint32_t protocol_version = 1;
constexpr std::uint64_t largest_sequence = std::uint64_t{1} << 62;
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
};
constexpr std::size_t refusal_kinds = 12;
std::string_view name_of(Refusal refusal);

/// Names are what certificates carry: lower-case letters, digits and inner hyphens, as in DNS.
bool is_peer_name(std::string_view name);

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
  Index dimension = 0;
  bool float32 = false;      ///< agreed in the hellos
  std::uint64_t latest = 0;  ///< newest sequence accepted on this link
};
std::optional<Flaw> flaw_of(const v1::Iterate& iterate, const IterateTerms& terms);

std::optional<Flaw> flaw_of(const v1::Heartbeat& heartbeat);

/// No honest message of a network with this dimension is longer.
std::size_t largest_message_bytes(Index dimension);
/// What gRPC may read at all. Up to here a message that is too large is counted as such; beyond, it
/// is not even read and the stream ends.
int receive_limit_bytes(Index dimension);

/// The values, whichever way they were sent: those of the message itself, or `widened`.
std::span<const double> values_of(const v1::Iterate& iterate, std::vector<double>& widened);
void pack(std::uint64_t sequence, std::span<const double> values, bool float32, v1::Iterate& into);

}  // namespace grove::peer
