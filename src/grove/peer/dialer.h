#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <grpcpp/resource_quota.h>

#include "grove/peer/link_table.h"
#include "grove/peer/peer.grpc.pb.h"
#include "grove/peer/peer_config.h"
#include "grove/peer/session.h"
#include "grove/peer/stream_registry.h"
#include "grove/peer/tls.h"

namespace grove::peer {

/// The channel to the neighbour. The certificate at the other end must carry the neighbour's name.
/// The quota limits the memory of its messages; null: no limit.
std::shared_ptr<grpc::Channel> channel_to(const NeighbourAddress& neighbour,
                                          const TlsIdentity& identity, const LinkShape& shape,
                                          const grpc::ResourceQuota* quota = nullptr);

/// Keeps the link to one neighbour connected: dials, and dials again with back-off, until it is
/// destroyed.
class Dialer {
 public:
  Dialer(NeighbourAddress neighbour, const TlsIdentity& identity, const LinkShape& shape,
         LinkTable& links, std::shared_ptr<spdlog::logger> log,
         double idle_seconds = idle_timeout_seconds, const grpc::ResourceQuota* quota = nullptr);
  ~Dialer();

  void cancel_overdue(double now) { streams_.cancel_overdue(now); }

 private:
  void keep_dialing();
  void dial_once();
  bool sleep_for(double seconds);  ///< returns false if the dialer ends

  double idle_seconds_;
  NeighbourAddress neighbour_;
  LinkTable& links_;
  std::shared_ptr<spdlog::logger> log_;
  std::unique_ptr<v1::Peer::Stub> stub_;
  StreamRegistry streams_;
  std::mutex mutex_;
  std::condition_variable ending_;
  bool ended_ = false;
  std::string last_error_;
  std::thread thread_;
};

}  // namespace grove::peer
