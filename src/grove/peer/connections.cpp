#include "grove/peer/connections.h"

#include <algorithm>

#include "grove/peer/certificates.h"

namespace grove::peer {
namespace {

constexpr double check_seconds = 5;  ///< between two looks at the files of the certificate
constexpr double seconds_per_day = 24 * 60 * 60;
constexpr double expiry_warning_days = 14;

}  // namespace

/// Heartbeats keep a stream open, however rare they are.
double Connections::idle_seconds() const {
  return std::max(idle_timeout_seconds, 10 * parts_.config.heartbeat_seconds);
}

Status Connections::open() {
  const PeerConfig& config = parts_.config;
  auto server = Server::start({.name = config.name,
                               .listen = config.listen,
                               .identity = identity_,
                               .shape = parts_.shape,
                               .neighbours = config.members + config.neighbours.size(),
                               .idle_seconds = idle_seconds()},
                              parts_.links, handlers_);
  if (!server) return server.error();
  server_ = std::move(*server);
  // One end of each link dials: the peer whose name comes first, or the newcomer.
  for (const auto& neighbour : config.neighbours)
    if (!neighbour.address.empty() && (config.join || config.name < neighbour.name))
      dialers_.push_back(std::make_unique<Dialer>(neighbour, identity_, parts_.shape, parts_.links,
                                                  parts_.log, idle_seconds(), &server_->quota()));
  return success();
}

void Connections::close() {
  dialers_.clear();
  if (server_) server_->shut_down();
}

void Connections::cancel_overdue(double now) {
  server_->cancel_overdue(now);
  for (const auto& dialer : dialers_) dialer->cancel_overdue(now);
}

Status Connections::follow_certificates(double now) {
  const PeerConfig& config = parts_.config;
  if (config.insecure || now < next_check_) return success();
  next_check_ = now + check_seconds;
  auto loaded = load_identity({config.ca, config.certificate, config.key});
  if (!loaded || (loaded->certificate == identity_.certificate && loaded->ca == identity_.ca))
    return success();
  if (const Status good =
          check_identity({loaded->certificate, loaded->key}, loaded->ca, config.name);
      !good) {
    parts_.log->warn("the new certificate is not used: {}", good.error().text());
    return success();
  }
  identity_ = std::move(*loaded);
  parts_.signer->set_identity(identity_);
  close();
  if (Status status = open(); !status) return status;
  parts_.log->info("uses the new certificate");
  warn_of_expiry();
  return success();
}

double Connections::certificate_seconds() const {
  return identity_.secure() ? seconds_until_expiry(identity_.certificate) : -1;
}

void Connections::warn_of_expiry() const {
  const double days = certificate_seconds() / seconds_per_day;
  if (identity_.secure() && days < expiry_warning_days)
    parts_.log->warn("the certificate expires in {:.1f} days", days);
}

}  // namespace grove::peer
