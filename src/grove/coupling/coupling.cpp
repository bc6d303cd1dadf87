#include "grove/coupling/coupling.h"

#include "grove/coupling/broadcast_coupling.h"
#include "grove/coupling/edge_coupling.h"

namespace grove {

std::unique_ptr<Coupling> make_coupling(const CouplingOptions& options, const Vector& start,
                                        std::size_t neighbours) {
  if (options.kind == LinkKind::edge)
    return std::make_unique<EdgeCoupling>(options, start, neighbours);
  return std::make_unique<BroadcastCoupling>(options, start, neighbours);
}

}  // namespace grove
