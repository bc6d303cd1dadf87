#pragma once

// The stream of a link. gRPC passes bytes on; they are made and read here, because with large d
// every copy of a message counts.

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

grpc::ByteBuffer bytes_of(const v1::Envelope& envelope);
/// The values of an iterate, written once: where they are sent from.
grpc::Slice bytes_of(std::span<const double> values, bool float32);
/// An envelope with an iterate that has these values.
grpc::ByteBuffer bytes_of(const v1::Iterate& but_values, const grpc::Slice& values);
/// Bytes that are no envelope give an empty one, which is refused wherever it comes.
void read_bytes(grpc::ByteBuffer& bytes, Index dimension, v1::Envelope& envelope);

/// False: the stream has ended. The envelope is let go of before it is sent.
template <class Stream>
bool write_to(Stream& stream, v1::Envelope& envelope) {
  const grpc::ByteBuffer bytes = bytes_of(envelope);
  envelope.Clear();
  return stream.Write(bytes);
}

/// False: the stream has ended.
template <class Stream>
bool read_from(Stream& stream, Index dimension, v1::Envelope& envelope) {
  grpc::ByteBuffer bytes;
  if (!stream.Read(&bytes)) return false;
  read_bytes(bytes, dimension, envelope);
  return true;
}

/// Of the arguments of a server (a builder) or a channel. gRPC sets aside what it expects to read
/// next, for every connection and up to megabytes; this bounds it.
template <class SetInteger>
void bound_reads(const SetInteger& set) {
  constexpr int most_bytes = 64 << 10;
  set(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, most_bytes);
}

}  // namespace grove::peer
