#pragma once

#include <cmath>
#include <cstdlib>
#include <string_view>

#include "grove/runtime/peer/wire.h"

namespace grove::peer {

/// Reads the bytes as a neighbour's message would be and aborts where something unfit was let
/// through. Shared by the fuzzer and the tests.
inline void fuzz_wire(std::string_view bytes) {
  constexpr Index dimension = 3;
  v1::Envelope envelope;
  if (!envelope.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  if (envelope.has_hello()) {
    const HelloTerms terms{.network = "n", .self = "a", .fingerprint = "f", .dimension = dimension};
    if (!flaw_of(envelope.hello(), terms) && !is_peer_name(envelope.hello().from())) std::abort();
  }
  if (envelope.has_heartbeat()) (void)flaw_of(envelope.heartbeat());
  if (!envelope.has_iterate()) return;
  for (const bool float32 : {false, true}) {
    const IterateTerms terms{.dimension = dimension, .float32 = float32, .latest = 5};
    if (flaw_of(envelope.iterate(), terms)) continue;
    std::vector<double> widened;
    const auto values = values_of(envelope.iterate(), widened);
    if (values.size() != dimension || envelope.iterate().sequence() <= 5) std::abort();
    for (const double value : values)
      if (!std::isfinite(value)) std::abort();
  }
}

}  // namespace grove::peer
