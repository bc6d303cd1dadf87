#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grove/agent/message.h"
#include "grove/base/types.h"
#include "grove/coupling/link_weight.h"
#include "grove/peer/peer.pb.h"
#include "grove/peer/schema.h"

namespace grove::peer {

constexpr std::uint32_t protocol_version = 5;

/// The protocols that a peer knows. Two peers use the newest that both know. A version of the
/// program that can go back to the protocol before its own lets a network be upgraded one peer at a
/// time.
struct ProtocolRange {
  std::uint32_t oldest = protocol_version;
  std::uint32_t newest = protocol_version;
};

/// Sequence numbers are (epoch << 32) + activation within the epoch. A peer starts a new epoch when
/// it restarts, and when it learns that its sequence numbers were used before.
constexpr int epoch_shift = 32;
constexpr std::uint64_t epoch_of(std::uint64_t sequence) { return sequence >> epoch_shift; }
/// The first sequence number of the epoch after that of `sequence`.
constexpr std::uint64_t next_epoch(std::uint64_t sequence) {
  return (epoch_of(sequence) + 1) << epoch_shift;
}
constexpr std::uint64_t max_sequence = std::uint64_t{1} << 62;
/// A neighbour may remember a later epoch of this peer than the peer itself does. With TLS it
/// proves the epoch with an entry that this peer signed; without, it may be at most 2^20 epochs
/// later.
constexpr std::uint64_t max_sequence_jump = std::uint64_t{1} << 52;
/// Sums of squares of larger values overflow; such values are rejected like infinity.
constexpr double max_value = 1e100;
constexpr std::size_t max_members = 100'000;
constexpr std::size_t max_name_length = 63;
constexpr std::size_t max_fit_bytes = 16 << 20;  ///< of all parts of a fit, in one heartbeat

/// Why a message was rejected. Rejected messages are counted and never change state.
enum class RejectReason {
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
  wrong_link_weight,
  stale_link_weight,
  beyond_bound,
};
constexpr std::size_t reject_reason_count = 15;
std::string_view name_of(RejectReason reason);

/// A peer name consists of lower-case letters, digits and inner hyphens, as in DNS, because
/// certificates carry it. It may have parts with dots between them, as db.hospital.org.
bool is_peer_name(std::string_view name);

/// Makes text of a stranger safe to log: at most 200 characters, and '?' for each unprintable one.
std::string printable(std::string_view text);

/// The sizes of the messages of a network.
struct LinkShape {
  LinkShape(Index coefficients = 0, std::optional<LinkWeightForm> form = {})
      : dimension(coefficients), weight(form) {}

  Index dimension;
  std::optional<LinkWeightForm> weight;  ///< form of the link weights; none for scalar penalties
  bool vectors = true;                   ///< messages have a vector
  bool sums = false;                     ///< messages have the fields of the sum service
  bool masked = false;                   ///< answers are words of fixed point under masks
  bool curvature = false;                ///< questions have a matrix
  bool fits = false;                     ///< heartbeats have parts of a fit
  /// Largest mean of the diagonal of a link weight (influence.h).
  double largest_weight = std::numeric_limits<double>::infinity();

  bool sparse() const { return weight && weight->shape == LinkWeightShape::sparse; }
};

/// The version of the link weight that comes with an iterate.
std::int64_t update_version(const v1::WeightHeader& weights);
/// Bytes of the numbers of a message, at most.
std::size_t number_bytes(const LinkShape& shape);

/// A rejected message: the reason, and a detail for the log.
struct Violation {
  RejectReason reason;
  std::string detail;
};

/// The contents that this peer requires in a neighbour's hello.
struct ExpectedHello {
  std::string_view network;
  std::string_view self;
  const Schema& schema;
  Index dimension = 0;
  ProtocolRange protocols = {};
};
std::optional<Violation> validate(const v1::Hello& hello, const ExpectedHello& expected);

/// The contents that this peer requires in a neighbour's iterates.
struct ExpectedIterate {
  LinkShape shape;
  bool float32 = false;                   ///< as agreed in the hellos
  std::uint64_t last_sequence = 0;        ///< newest sequence accepted on this link
  std::uint64_t newest_own_sequence = 0;  ///< newest that a neighbour can have from this peer
  std::int64_t last_weight_version = -1;  ///< of the newest link weight accepted on this link
};
/// Validates everything but the numbers of a link weight.
std::optional<Violation> validate(const v1::Iterate& iterate, const ExpectedIterate& expected);

/// Validates form and numbers. A full matrix costs a factorization.
std::optional<Violation> validate(const v1::LinkWeight& weight, const LinkShape& shape);

std::optional<Violation> validate(const v1::Heartbeat& heartbeat);

/// The entry without its signature; none if the bytes are not an entry.
std::optional<v1::Member> parse_member(const v1::SignedMember& entry);

/// Moves the certificates of an older heartbeat to the newer one that replaces it, because a
/// certificate is sent once a session.
void keep_certificates(v1::Heartbeat& older, v1::Heartbeat& newer);

Schema schema_of(const v1::Hello& hello);
void set_schema(const Schema& schema, v1::Hello& hello);

/// The size limit of valid messages.
std::size_t max_message_bytes(const LinkShape& shape);
/// The size limit that gRPC enforces. A message between the two limits is counted as too large. A
/// message above both limits is not read, and the stream ends.
int receive_limit_bytes(const LinkShape& shape);

v1::Iterate encode(const Message& message, const LinkShape& shape, bool float32);
/// The spans of the result refer to the iterate or to `buffer`. The sender is not set.
Message decode(const v1::Iterate& iterate, const LinkShape& shape, std::vector<double>& buffer);

/// Moves what an older iterate has and the newer one that replaces it lacks, because the sender
/// does not soon repeat it: the weight update, and the items of the sum service.
void keep_updates(v1::Iterate& older, v1::Iterate& newer);

}  // namespace grove::peer
