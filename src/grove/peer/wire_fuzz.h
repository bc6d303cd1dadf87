#pragma once

#include <cmath>
#include <cstdlib>
#include <string_view>

#include "grove/coupling/link_weight.h"
#include "grove/peer/certificates.h"
#include "grove/peer/contributions.h"
#include "grove/peer/fit_gossip.h"
#include "grove/peer/members.h"
#include "grove/peer/wire.h"
#include "grove/sums/link_state.h"

namespace grove::peer {

/// Aborts unless an agent with matrix link weights can use the message.
inline void require_usable_weight(const v1::Iterate& iterate, const LinkShape& shape) {
  std::vector<double> buffer;
  const Message message = decode(iterate, shape, buffer);
  if (!message.weights || !message.hops) std::abort();
  const std::int64_t version = message.weights->sender.version;
  if (version < 0 || version > 9 || message.weights->receiver.version > 4) std::abort();
  for (const double value : message.vector)
    if (!std::isfinite(value)) std::abort();
  const auto weight =
      LinkWeight::from_numbers(*shape.weight, shape.dimension, message.weight_update);
  if (iterate.weights().has_update() != weight.has_value()) std::abort();
  if (weight && !weight->is_positive_definite()) std::abort();
  if (weight && LinkWeight::mean_diagonal(*shape.weight, shape.dimension, weight->numbers()) >
                    1.001 * shape.largest_weight)
    std::abort();
}

/// Returns whether the iterate was accepted.
inline bool fuzz_iterate(const v1::Iterate& iterate, const LinkShape& shape) {
  bool accepted = false;
  for (const bool float32 : {false, true}) {
    const ExpectedIterate expected{
        .shape = shape, .float32 = float32, .last_sequence = 5, .newest_own_sequence = 4};
    if (validate(iterate, expected)) continue;
    if (iterate.weights().has_update() && validate(iterate.weights().update(), shape)) continue;
    if (iterate.sequence() <= 5) std::abort();
    accepted = true;
    if (shape.weight) {
      if (iterate.sequence() <= 9) require_usable_weight(iterate, shape);
      continue;
    }
    std::vector<double> widened;
    const auto values = decode(iterate, shape, widened).vector;
    if (values.size() != static_cast<std::size_t>(shape.dimension)) std::abort();
    for (const double value : values)
      if (!std::isfinite(value)) std::abort();
  }
  return accepted;
}

/// Aborts if unusable fields of the sum service were accepted. Returns whether any were.
inline bool fuzz_sums(const v1::Iterate& iterate, Index dimension) {
  bool accepted = false;
  for (const bool masked : {false, true}) {
    LinkShape shape(dimension);
    shape.vectors = false;
    shape.sums = true;
    shape.masked = masked;
    if (validate(iterate, {.shape = shape, .last_sequence = 5})) continue;
    accepted = true;
    std::vector<double> unused;
    const Message message = decode(iterate, shape, unused);
    if (!message.tree || !message.vector.empty() || !read_entries(message.tree->table))
      std::abort();
    if (const auto& wave = message.tree->wave) {
      if (!wave->id.known()) std::abort();
      for (const double number : wave->numbers)
        if (!std::isfinite(number)) std::abort();
    }
    if (const auto& sum = message.tree->sum) {
      if (masked ? !sum->numbers.empty() || !sum->matrix.empty() : !sum->words.empty())
        std::abort();
      for (const double number : sum->numbers)
        if (!std::isfinite(number)) std::abort();
    }
  }
  return accepted;
}

/// Signed contributions are taken only with a signature, which no fuzzer finds.
inline void fuzz_contributions(const v1::Heartbeat& heartbeat) {
  static const CertifiedKey authority = *make_authority("n");
  static const CertifiedKey own = *certify(authority, "a");
  static Signer signer({authority.certificate, own.certificate, own.key}, "n", "a");
  Contributions contributions(signer, "a", 3);
  contributions.merge(heartbeat, "");
  if (!contributions.entries().empty()) std::abort();
}

/// Unsigned parts of a fit are merged, and a peer that forwards them stays valid.
inline void fuzz_fit_parts(const v1::Heartbeat& heartbeat) {
  FitGossip gossip(
      {.network = "n", .self = "a", .expected = 2, .settings = "y ~ x", .data = "table"});
  gossip.set_summary("{}");
  gossip.begin_sum(Vector::Ones(2));
  gossip.merge(heartbeat);
  v1::Heartbeat sent;
  gossip.add_to(sent);
  if (validate(sent) || sent.fits_size() < 1) std::abort();
}

/// Merges a heartbeat that is valid, and aborts if the peer then sends one that is not.
inline bool fuzz_heartbeat(const v1::Heartbeat& heartbeat) {
  if (validate(heartbeat)) return false;
  fuzz_contributions(heartbeat);
  fuzz_fit_parts(heartbeat);
  Members members({.self = "a", .holder = "a", .expected = 2, .tolerance = 1e-6, .process = 1}, 0);
  for (double now = 1; now < 4; now += 1) {
    members.merge(heartbeat, now);
    members.report(1e-9, true, 1, now);
  }
  const v1::Heartbeat sent = members.heartbeat(4);
  if (validate(sent)) std::abort();
  const auto own = parse_member(sent.members(0));
  if (!own || own->name() != "a" || own->process() != 1) std::abort();
  if (members.live(4).size() + members.missing(4).size() < 1) std::abort();
  return true;
}

/// Parses and validates the bytes like a neighbour's message, and aborts if an unusable message was
/// accepted. Returns whether any kind of link accepts it. The fuzzer and the tests use it.
inline bool fuzz_wire(std::string_view bytes) {
  constexpr Index dimension = 3;
  v1::Envelope envelope;
  if (!envelope.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  if (envelope.has_hello()) {
    const Schema schema{{"loss", "logistic"}};
    const ExpectedHello expected{
        .network = "n", .self = "a", .schema = schema, .dimension = dimension};
    if (validate(envelope.hello(), expected)) return false;
    if (!is_peer_name(envelope.hello().from())) std::abort();
    return true;
  }
  if (envelope.has_heartbeat()) return fuzz_heartbeat(envelope.heartbeat());
  if (!envelope.has_iterate()) return false;
  bool accepted = fuzz_iterate(envelope.iterate(), dimension);
  accepted |= fuzz_sums(envelope.iterate(), dimension);
  for (const LinkWeightForm form :
       {LinkWeightForm{LinkWeightShape::scalar}, LinkWeightForm{LinkWeightShape::diagonal},
        LinkWeightForm{LinkWeightShape::low_rank, 2}, LinkWeightForm{LinkWeightShape::full}}) {
    LinkShape shape(dimension, form);
    accepted |= fuzz_iterate(envelope.iterate(), shape);
    shape.largest_weight = 10;
    fuzz_iterate(envelope.iterate(), shape);
  }
  return accepted;
}

}  // namespace grove::peer
