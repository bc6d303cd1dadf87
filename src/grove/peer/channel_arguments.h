#pragma once

#include <grpc/grpc.h>

namespace grove::peer {

/// Sets an argument of a server (a builder) or a channel. gRPC allocates a buffer for the next read
/// of every connection, up to megabytes; the argument limits its size.
template <class SetInteger>
void limit_read_buffers(const SetInteger& set) {
  constexpr int max_bytes = 64 << 10;
  set(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, max_bytes);
}

}  // namespace grove::peer
