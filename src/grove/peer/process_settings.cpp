#include "grove/peer/process_settings.h"

#include <cstdlib>

#include <google/protobuf/stubs/common.h>
#if GOOGLE_PROTOBUF_VERSION < 4022000
#include <google/protobuf/stubs/logging.h>
#endif
#include <grpcpp/version_info.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace grove::peer {

/// Iterates come and go in threads of their own. By default glibc keeps what they free, in a pool
/// per thread: with d = 100,000 that is three times what the peer needs. Blocks of 128 kB and more
/// now go back to the system at once.
void bound_process_memory() {
#ifdef __GLIBC__
  ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
  ::mallopt(M_ARENA_MAX, 2);
#endif
#if GRPC_CPP_VERSION_MAJOR == 1 && GRPC_CPP_VERSION_MINOR == 51
  // With it, the bound on what is set aside for the next read of a connection (bound_reads) is
  // ignored: 5 MB with three neighbours and d = 100,000.
  ::setenv("GRPC_EXPERIMENTS", "-tcp_read_chunks", 0);
#endif
}

void keep_protobuf_quiet() {
#if GOOGLE_PROTOBUF_VERSION < 4022000  // later ones log through Abseil, for which this is gone
  google::protobuf::SetLogHandler(nullptr);
#endif
}

/// Of blocks between others that are still in use: messages are many small ones inside gRPC.
void return_freed_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace grove::peer
