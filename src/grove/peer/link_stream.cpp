#include "grove/peer/link_stream.h"

#include <array>
#include <bit>
#include <cstring>

#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>

namespace grove::peer {

std::unique_ptr<ClientStream> open_link(grpc::Channel& channel, grpc::ClientContext& context) {
  const grpc::internal::RpcMethod method("/grove.peer.v1.Peer/Link",
                                         grpc::internal::RpcMethod::BIDI_STREAMING);
  return std::unique_ptr<ClientStream>(
      grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>::Create(
          &channel, method, &context));
}

grpc::ByteBuffer bytes_of(const v1::Envelope& envelope) {
  grpc::ByteBuffer bytes;
  bool owned = false;
  grpc::SerializationTraits<v1::Envelope>::Serialize(envelope, &bytes, &owned);
  return bytes;
}

namespace {

static_assert(std::endian::native == std::endian::little, "values travel as they lie in memory");

using google::protobuf::io::CodedOutputStream;

/// Of a field that is a number of bytes.
std::size_t front_bytes(std::size_t content) {
  return 1 + CodedOutputStream::VarintSize32(static_cast<std::uint32_t>(content));
}
std::uint8_t* write_front(int field, std::size_t content, std::uint8_t* at) {
  constexpr int of_a_length = 2;
  *at++ = static_cast<std::uint8_t>(field << 3 | of_a_length);
  return CodedOutputStream::WriteVarint32ToArray(static_cast<std::uint32_t>(content), at);
}

grpc::Slice owning(std::unique_ptr<std::uint8_t[]> bytes, std::size_t size) {
  return {bytes.release(), size, [](void* owned) { delete[] static_cast<std::uint8_t*>(owned); }};
}

}  // namespace

grpc::Slice bytes_of(std::span<const double> values, bool float32) {
  if (values.empty()) return {};
  const std::size_t content = values.size() * (float32 ? sizeof(float) : sizeof(double));
  const std::size_t size = front_bytes(content) + content;
  std::unique_ptr<std::uint8_t[]> bytes(new std::uint8_t[size]);
  std::uint8_t* at =
      write_front(float32 ? v1::Iterate::kRoundedFieldNumber : v1::Iterate::kValuesFieldNumber,
                  content, bytes.get());
  if (!float32) std::memcpy(at, values.data(), content);
  for (std::size_t k = 0; float32 && k < values.size(); ++k) {
    const auto rounded = static_cast<float>(values[k]);
    std::memcpy(at + k * sizeof rounded, &rounded, sizeof rounded);
  }
  return owning(std::move(bytes), size);
}

grpc::ByteBuffer bytes_of(const v1::Iterate& but_values, const grpc::Slice& values) {
  const std::size_t rest = but_values.ByteSizeLong(), content = rest + values.size();
  const std::size_t size = front_bytes(content) + rest;
  std::unique_ptr<std::uint8_t[]> bytes(new std::uint8_t[size]);
  std::uint8_t* at = write_front(v1::Envelope::kIterateFieldNumber, content, bytes.get());
  but_values.SerializeWithCachedSizesToArray(at);
  const std::array slices{owning(std::move(bytes), size), values};
  return {slices.data(), slices.size()};
}

namespace {

/// Protobuf doubles its array while it reads, and would keep up to twice what is needed.
void make_room(std::size_t bytes, Index dimension, v1::Envelope& envelope) {
  const auto d = static_cast<std::size_t>(dimension);
  if (bytes > d * sizeof(double))
    envelope.mutable_iterate()->mutable_values()->Reserve(static_cast<int>(d));
  else if (bytes > d * sizeof(float))
    envelope.mutable_iterate()->mutable_rounded()->Reserve(static_cast<int>(d));
}

}  // namespace

void read_bytes(grpc::ByteBuffer& bytes, Index dimension, v1::Envelope& envelope) {
  envelope.Clear();
  make_room(bytes.Length(), dimension, envelope);
  grpc::ProtoBufferReader reader(&bytes);
  google::protobuf::io::CodedInputStream input(&reader);
  if (!envelope.MergeFromCodedStream(&input) || !input.ConsumedEntireMessage()) envelope.Clear();
}

}  // namespace grove::peer
