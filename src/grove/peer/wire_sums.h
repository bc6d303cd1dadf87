#pragma once

// The fields of the sum service on the wire (sums/tree_sums.h).

#include "grove/peer/wire.h"

namespace grove::peer {

/// Sizes, finite numbers, entries that can be read. What the numbers mean is the agent's to check.
std::optional<Violation> validate(const v1::Sums& sums, const LinkShape& shape);

/// The most bytes that the fields take beside a table, which has the room of a heartbeat.
std::size_t max_sums_bytes(const LinkShape& shape);

v1::Sums encode(const TreeFields& fields);
TreeFields decode(const v1::Sums& sums);  ///< its spans refer to `sums`

/// Items that the newer message lacks. They count even if they are late.
void keep_items(v1::Sums& older, v1::Sums& newer);

}  // namespace grove::peer
