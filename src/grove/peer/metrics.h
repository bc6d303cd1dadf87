#pragma once

#include <functional>
#include <memory>
#include <string>

#include "grove/base/result.h"
#include "grove/peer/peer_status.h"

namespace grove::peer {

/// Serves a peer's status in the text format of Prometheus on a port of its own.
class Metrics {
 public:
  static Result<std::unique_ptr<Metrics>> serve(const std::string& address,
                                                std::function<PeerStatus()> status);
  ~Metrics();

 private:
  struct Parts;
  explicit Metrics(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace grove::peer
