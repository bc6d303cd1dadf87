#pragma once

#include <functional>
#include <memory>
#include <string>

#include <grpcpp/server.h>

#include "grove/base/result.h"
#include "grove/peer/cancels.h"
#include "grove/peer/hub.h"
#include "grove/peer/tls.h"

namespace grove::peer {

struct ServerSettings {
  std::string listen;  ///< host:port; port 0 picks a free one
  TlsIdentity identity;
  LinkShape shape;
  std::size_t neighbours = 0;  ///< expected; bounds the number of threads
};

/// What the peer does when asked by others than neighbours.
struct ServerAnswers {
  std::function<std::string()> status_json;
  std::function<void()> stop;
};

/// Listens for neighbours, status questions and the operator.
class Server {
 public:
  static Result<std::unique_ptr<Server>> start(const ServerSettings& settings, Hub& hub,
                                               ServerAnswers answers);
  ~Server();

  int port() const { return port_; }
  void cut_overdue(double now) { cancels_.cut_overdue(now); }
  void shut_down();

 private:
  class Service;
  Server() = default;

  StreamRegistry cancels_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace grove::peer
