#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "grove/base/result.h"
#include "grove/peer/layout.h"

namespace grove::peer {

/// Requests of a network's operator to a peer. An error means that the peer does not answer.
Result<nlohmann::json> ask_status(const Layout::Peer& peer, const TlsIdentity& identity,
                                  double timeout_seconds = 2);
Status ask_stop(const Layout::Peer& peer, const TlsIdentity& identity);
/// The peer itself may ask this, too.
Status ask_leave(const Layout::Peer& peer, const TlsIdentity& identity);
Status ask_retrain(const Layout::Peer& peer, const TlsIdentity& identity);

}  // namespace grove::peer
