#include "grove/peer/process_settings.h"

#include <cstdlib>

#include <sys/resource.h>

#include <google/protobuf/stubs/common.h>
#if GOOGLE_PROTOBUF_VERSION < 4022000
#include <google/protobuf/stubs/logging.h>
#endif
#include <grpcpp/version_info.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace grove::peer {

/// Several threads allocate and free iterates. By default glibc keeps freed memory in a pool per
/// thread; with d = 100,000 the pools are three times as large as the peer's data. With these
/// settings, blocks of 128 kB and more go back to the system at once.
void limit_process_memory() {
#ifdef __GLIBC__
  ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
  ::mallopt(M_ARENA_MAX, 2);
#endif
#if GRPC_CPP_VERSION_MAJOR == 1 && GRPC_CPP_VERSION_MINOR == 51
  // This experiment ignores limit_read_buffers(); 5 MB more with three neighbours and d = 100,000.
  ::setenv("GRPC_EXPERIMENTS", "-tcp_read_chunks", 0);
#endif
}

void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

void silence_protobuf() {
#if GOOGLE_PROTOBUF_VERSION < 4022000  // later versions log through Abseil
  google::protobuf::SetLogHandler(nullptr);
#endif
}

/// Messages are many small blocks inside gRPC; free() does not return those between used blocks.
void release_freed_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace grove::peer
