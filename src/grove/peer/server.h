#pragma once

#include <functional>
#include <memory>
#include <string>

#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>

#include "grove/base/result.h"
#include "grove/peer/link_table.h"
#include "grove/peer/session.h"
#include "grove/peer/stream_registry.h"
#include "grove/peer/tls.h"

namespace grove::peer {

struct ServerSettings {
  std::string name;    ///< of this peer
  std::string listen;  ///< host:port; port 0 picks a free one
  TlsIdentity identity;
  LinkShape shape;
  std::size_t neighbours = 0;                  ///< expected number; limits the number of threads
  double idle_seconds = idle_timeout_seconds;  ///< after which a silent stream ends
};

/// Called for requests that are not from neighbours.
struct ServerHandlers {
  std::function<std::string()> status_json;
  std::function<void()> stop;
  std::function<void()> leave = [] {};
  std::function<Status()> retrain = [] {
    return Status(Error{"retrain", "has not begun to train"});
  };
};

/// Serves neighbours' links, status requests and the operator.
class Server {
 public:
  static Result<std::unique_ptr<Server>> start(const ServerSettings& settings, LinkTable& links,
                                               ServerHandlers handlers);
  ~Server();

  int port() const { return port_; }
  /// Memory for the messages of all connections of the peer, also of those that it dials.
  const grpc::ResourceQuota& quota() const { return quota_; }
  void cancel_overdue(double now) { streams_.cancel_overdue(now); }
  void shut_down();

 private:
  class Service;
  Server() = default;

  grpc::ResourceQuota quota_{"peer"};
  StreamRegistry streams_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace grove::peer
