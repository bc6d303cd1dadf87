#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "grove/peer/cancels.h"
#include "grove/peer/hub.h"
#include "grove/peer/peer_config.h"
#include "grove/peer/tls.h"

namespace grove::peer {

/// The channel to a peer of that name at that address: its certificate must carry the name.
std::shared_ptr<grpc::Channel> channel_to(const NeighbourAddress& neighbour,
                                          const TlsIdentity& identity, const LinkShape& shape);

/// Keeps the link to one neighbour up from this end: dials, and dials again with back-off, until
/// destroyed.
class Dialer {
 public:
  Dialer(NeighbourAddress neighbour, const TlsIdentity& identity, const LinkShape& shape, Hub& hub,
         std::shared_ptr<spdlog::logger> log);
  ~Dialer();

  void cut_overdue(double now) { cancels_.cut_overdue(now); }

 private:
  void keep_dialing();
  void dial_once();
  bool sleep_for(double seconds);  ///< false: told to end

  NeighbourAddress neighbour_;
  Hub& hub_;
  std::shared_ptr<spdlog::logger> log_;
  std::shared_ptr<grpc::Channel> channel_;
  StreamRegistry cancels_;
  std::mutex mutex_;
  std::condition_variable ending_;
  bool ended_ = false;
  std::string last_trouble_;
  std::thread thread_;
};

}  // namespace grove::peer
