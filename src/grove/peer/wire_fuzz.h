#pragma once

#include <cmath>
#include <cstdlib>
#include <string_view>

#include "grove/coupling/curvature_message.h"
#include "grove/peer/link_stream.h"
#include "grove/peer/wire.h"

namespace grove::peer {

/// What an agent whose links are weighed by curvature would be handed.
inline void require_fit_weight(const v1::Iterate& iterate, const LinkShape& shape) {
  std::vector<double> buffer;
  const auto payload = payload_of(iterate, shape, buffer);
  const auto told = CurvatureMessage::read(payload.subspan(1), shape.dimension);
  if (!told || told->version < 0 || told->version > 9 || told->of_yours > 4) std::abort();
  for (const double value : told->vector)
    if (!std::isfinite(value)) std::abort();
  const auto curvature = Curvature::from_words(*shape.curvature, shape.dimension, told->curvature);
  if (iterate.weight().has_curvature() != curvature.has_value()) std::abort();
  if (curvature && !curvature->sound()) std::abort();
}

/// Whether it was accepted.
inline bool fuzz_iterate(const v1::Iterate& iterate, const LinkShape& shape) {
  bool accepted = false;
  for (const bool float32 : {false, true}) {
    const IterateTerms terms{.shape = shape, .float32 = float32, .latest = 5, .latest_own = 4};
    if (flaw_of(iterate, terms)) continue;
    if (iterate.weight().has_curvature() && flaw_of(iterate.weight().curvature(), shape)) continue;
    if (iterate.sequence() <= 5) std::abort();
    accepted = true;
    if (shape.curvature) {
      if (iterate.sequence() <= 9) require_fit_weight(iterate, shape);
      continue;
    }
    std::vector<double> widened;
    const auto values = payload_of(iterate, shape, widened);
    if (values.size() != static_cast<std::size_t>(shape.dimension)) std::abort();
    for (const double value : values)
      if (!std::isfinite(value)) std::abort();
  }
  return accepted;
}

/// Reads the bytes as a neighbour's message would be and aborts where something unfit was let
/// through. Returns whether anybody would accept it. Shared by the fuzzer and the tests.
inline bool fuzz_wire(std::string_view bytes) {
  constexpr Index dimension = 3;
  const grpc::Slice slice(bytes.data(), bytes.size());
  grpc::ByteBuffer buffer(&slice, 1);
  v1::Envelope envelope;
  read_bytes(buffer, dimension, envelope);
  if (envelope.has_hello()) {
    const HelloTerms terms{.network = "n", .self = "a", .fingerprint = "f", .dimension = dimension};
    if (flaw_of(envelope.hello(), terms)) return false;
    if (!is_peer_name(envelope.hello().from())) std::abort();
    return true;
  }
  if (envelope.has_heartbeat()) return !flaw_of(envelope.heartbeat());
  if (!envelope.has_iterate()) return false;
  bool accepted = fuzz_iterate(envelope.iterate(), dimension);
  for (const CurvatureForm form :
       {CurvatureForm{CurvatureShape::scalar}, CurvatureForm{CurvatureShape::diagonal},
        CurvatureForm{CurvatureShape::low_rank, 2}, CurvatureForm{CurvatureShape::full}})
    accepted |= fuzz_iterate(envelope.iterate(), {dimension, form});
  return accepted;
}

}  // namespace grove::peer
