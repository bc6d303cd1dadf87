#pragma once

#include <memory>
#include <vector>

#include <spdlog/logger.h>

#include "grove/base/result.h"
#include "grove/peer/dialer.h"
#include "grove/peer/link_table.h"
#include "grove/peer/peer_config.h"
#include "grove/peer/server.h"
#include "grove/peer/signer.h"

namespace grove::peer {

/// The server of a peer and its dialers, with the peer's certificate.
class Connections {
 public:
  struct Parts {
    const PeerConfig& config;
    LinkShape shape;
    LinkTable& links;
    Signer* signer;  ///< null without TLS
    std::shared_ptr<spdlog::logger> log;
  };
  /// The parts must outlive the connections.
  Connections(Parts parts, TlsIdentity identity, ServerHandlers handlers)
      : parts_(std::move(parts)), identity_(std::move(identity)), handlers_(std::move(handlers)) {}

  Status open();
  void close();
  int port() const { return server_->port(); }

  /// Ends streams that have been silent for too long.
  void cancel_overdue(double now);
  /// Connects again with a renewed certificate, if the files have changed. A pair of files that
  /// does not belong together yet is read again later. An error means that there is no server any
  /// more.
  Status follow_certificates(double now);
  const std::string& authority() const { return identity_.ca; }  ///< its certificate
  double certificate_seconds() const;  ///< until the certificate expires; -1 without TLS
  void warn_of_expiry() const;

 private:
  double idle_seconds() const;

  Parts parts_;
  TlsIdentity identity_;
  ServerHandlers handlers_;
  double next_check_ = 0;
  std::unique_ptr<Server> server_;
  std::vector<std::unique_ptr<Dialer>> dialers_;
};

}  // namespace grove::peer
