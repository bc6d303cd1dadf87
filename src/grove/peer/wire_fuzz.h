#pragma once

#include <cmath>
#include <cstdlib>
#include <string_view>

#include "grove/coupling/curvature_message.h"
#include "grove/peer/link_stream.h"
#include "grove/peer/wire.h"

namespace grove::peer {

/// Aborts unless an agent with matrix link weights can use the message.
inline void require_usable_weight(const v1::Iterate& iterate, const LinkShape& shape) {
  std::vector<double> buffer;
  const auto payload = decode_payload(iterate, shape, buffer);
  const auto decoded = CurvatureMessage::read(payload.subspan(1), shape.dimension);
  if (!decoded || decoded->version < 0 || decoded->version > 9 || decoded->of_yours > 4)
    std::abort();
  for (const double value : decoded->vector)
    if (!std::isfinite(value)) std::abort();
  const auto weight = Curvature::from_words(*shape.weight, shape.dimension, decoded->curvature);
  if (iterate.weights().has_update() != weight.has_value()) std::abort();
  if (weight && !weight->sound()) std::abort();
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
    const auto values = decode_payload(iterate, shape, widened);
    if (values.size() != static_cast<std::size_t>(shape.dimension)) std::abort();
    for (const double value : values)
      if (!std::isfinite(value)) std::abort();
  }
  return accepted;
}

/// Parses and validates the bytes like a neighbour's message, and aborts if an unusable message was
/// accepted. Returns whether any kind of link accepts it. The fuzzer and the tests use it.
inline bool fuzz_wire(std::string_view bytes) {
  constexpr Index dimension = 3;
  const grpc::Slice slice(bytes.data(), bytes.size());
  grpc::ByteBuffer buffer(&slice, 1);
  v1::Envelope envelope;
  parse(buffer, dimension, envelope);
  if (envelope.has_hello()) {
    const ExpectedHello expected{
        .network = "n", .self = "a", .fingerprint = "f", .dimension = dimension};
    if (validate(envelope.hello(), expected)) return false;
    if (!is_peer_name(envelope.hello().from())) std::abort();
    return true;
  }
  if (envelope.has_heartbeat()) return !validate(envelope.heartbeat());
  if (!envelope.has_iterate()) return false;
  bool accepted = fuzz_iterate(envelope.iterate(), dimension);
  for (const CurvatureForm form :
       {CurvatureForm{CurvatureShape::scalar}, CurvatureForm{CurvatureShape::diagonal},
        CurvatureForm{CurvatureShape::low_rank, 2}, CurvatureForm{CurvatureShape::full}})
    accepted |= fuzz_iterate(envelope.iterate(), {dimension, form});
  return accepted;
}

}  // namespace grove::peer
