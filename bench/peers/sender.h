#pragma once

#include <sys/types.h>

#include "grove/base/types.h"
#include "grove/peer/certificates.h"
#include "grove/peer/schema.h"
#include "grove/peer/tls.h"

namespace grove::bench {

/// Pins this process and its future threads to one core, if there are several.
void pin_to_core(int core);

constexpr auto receiver_name = "receiver";
std::string sender_name(int stream);
constexpr auto bench_network = "bench";
inline peer::Schema bench_schema() { return {{"problem", "bench"}}; }
peer::TlsIdentity identity_of(const peer::CertifiedKey& authority, const std::string& name);

/// The other end of the measured streams, as a separate process on a separate core.
class Sender {
 public:
  enum class Manner {
    flood,  ///< `streams` neighbours that write iterates as fast as the receiver reads
    peer,   ///< one neighbour that sends through a link table, like a peer
  };
  struct Job {
    Manner manner = Manner::flood;
    Index dimension = 0;
    int streams = 1;
    int port = 0;
  };

  /// Forks, so the constructor must run before any thread starts (gRPC starts some). The new
  /// process calls `configure` first.
  explicit Sender(const peer::CertifiedKey& authority, void (*configure)() = nullptr);
  ~Sender();
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  void start(const Job& job);  ///< ends when the receiver closes the streams

 private:
  int jobs_ = -1;  ///< file descriptor of the write end of a pipe to the process
  pid_t process_ = -1;
};

}  // namespace grove::bench
