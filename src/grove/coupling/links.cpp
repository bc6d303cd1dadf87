#include "grove/coupling/links.h"

#include "grove/coupling/broadcast_links.h"
#include "grove/coupling/edge_links.h"

namespace grove {

std::unique_ptr<Links> make_links(LinkOptions options, const Vector& start) {
  if (options.kind == LinkKind::edge)
    return std::make_unique<EdgeLinks>(std::move(options.penalties), start);
  return std::make_unique<BroadcastLinks>(std::move(options), start);
}

}  // namespace grove
