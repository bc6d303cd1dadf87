#pragma once

// The stream of a link. gRPC transfers raw bytes, and this file encodes and decodes them, because
// copies of a message are expensive for large d.

#include <memory>
#include <span>

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/sync_stream.h>

#include "grove/base/types.h"
#include "grove/peer/peer.pb.h"

namespace grove::peer {

using ServerStream = grpc::ServerReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;
using ClientStream = grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;
std::unique_ptr<ClientStream> open_link(grpc::Channel& channel, grpc::ClientContext& context);

grpc::ByteBuffer to_bytes(const v1::Envelope& envelope);
/// Encodes the vector of an iterate.
grpc::Slice to_bytes(std::span<const double> vector, bool float32);
/// Encodes an envelope with an iterate that has this vector.
grpc::ByteBuffer to_bytes(const v1::Iterate& without_vector, const grpc::Slice& vector);
/// Decodes an envelope. Invalid bytes give an empty envelope, which every receiver rejects.
void parse(grpc::ByteBuffer& bytes, Index dimension, v1::Envelope& envelope);

/// Returns false if the stream has ended. Clears the envelope before it sends the bytes.
template <class Stream>
bool write_to(Stream& stream, v1::Envelope& envelope) {
  const grpc::ByteBuffer bytes = to_bytes(envelope);
  envelope.Clear();
  return stream.Write(bytes);
}

/// Returns false if the stream has ended.
template <class Stream>
bool read_from(Stream& stream, Index dimension, v1::Envelope& envelope) {
  grpc::ByteBuffer bytes;
  if (!stream.Read(&bytes)) return false;
  parse(bytes, dimension, envelope);
  return true;
}

/// Sets an argument of a server (a builder) or a channel. gRPC allocates a buffer for the next read
/// of every connection, up to megabytes; the argument limits its size.
template <class SetInteger>
void limit_read_buffers(const SetInteger& set) {
  constexpr int max_bytes = 64 << 10;
  set(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, max_bytes);
}

}  // namespace grove::peer
