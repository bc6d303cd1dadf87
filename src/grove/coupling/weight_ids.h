#pragma once

#include <cstdint>

#include "grove/agent/message.h"
#include "grove/base/bytes.h"

namespace grove {

/// Messages until a weight is sent again that has not been confirmed; the interval doubles. A
/// confirmation takes at least one activation of each end.
inline constexpr std::uint32_t first_interval = 2, longest_interval = 64;

inline void put(ByteWriter& writer, const WeightId& id) {
  writer.put(id.version);
  writer.put(id.digest);
}

inline void get(ByteReader& reader, WeightId& id) {
  reader.get(id.version);
  reader.get(id.digest);
}

}  // namespace grove
