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

grpc::ByteBuffer to_bytes(const v1::Envelope& envelope) {
  grpc::ByteBuffer bytes;
  bool owned = false;
  grpc::SerializationTraits<v1::Envelope>::Serialize(envelope, &bytes, &owned);
  return bytes;
}

namespace {

static_assert(std::endian::native == std::endian::little,
              "vectors are copied from memory as they are");

using google::protobuf::io::CodedOutputStream;

/// Size of the tag and the length of a field with `content` bytes.
std::size_t header_bytes(std::size_t content) {
  return 1 + CodedOutputStream::VarintSize32(static_cast<std::uint32_t>(content));
}
std::uint8_t* write_header(int field, std::size_t content, std::uint8_t* at) {
  constexpr int length_delimited = 2;
  *at++ = static_cast<std::uint8_t>(field << 3 | length_delimited);
  return CodedOutputStream::WriteVarint32ToArray(static_cast<std::uint32_t>(content), at);
}

grpc::Slice owning(std::unique_ptr<std::uint8_t[]> bytes, std::size_t size) {
  return {bytes.release(), size, [](void* owned) { delete[] static_cast<std::uint8_t*>(owned); }};
}

}  // namespace

grpc::Slice to_bytes(std::span<const double> vector, bool float32) {
  if (vector.empty()) return {};
  const std::size_t content = vector.size() * (float32 ? sizeof(float) : sizeof(double));
  const std::size_t size = header_bytes(content) + content;
  std::unique_ptr<std::uint8_t[]> bytes(new std::uint8_t[size]);
  std::uint8_t* at = write_header(
      float32 ? v1::Iterate::kRoundedVectorFieldNumber : v1::Iterate::kVectorFieldNumber, content,
      bytes.get());
  if (!float32) std::memcpy(at, vector.data(), content);
  for (std::size_t k = 0; float32 && k < vector.size(); ++k) {
    const auto rounded = static_cast<float>(vector[k]);
    std::memcpy(at + k * sizeof rounded, &rounded, sizeof rounded);
  }
  return owning(std::move(bytes), size);
}

grpc::ByteBuffer to_bytes(const v1::Iterate& without_vector, const grpc::Slice& vector) {
  const std::size_t other = without_vector.ByteSizeLong(), content = other + vector.size();
  const std::size_t size = header_bytes(content) + other;
  std::unique_ptr<std::uint8_t[]> bytes(new std::uint8_t[size]);
  std::uint8_t* at = write_header(v1::Envelope::kIterateFieldNumber, content, bytes.get());
  without_vector.SerializeWithCachedSizesToArray(at);
  const std::array slices{owning(std::move(bytes), size), vector};
  return {slices.data(), slices.size()};
}

namespace {

/// Reserves the size that is needed. Without it, protobuf doubles its array while it reads and
/// keeps up to twice that size.
void reserve_vector(std::size_t bytes, Index dimension, v1::Envelope& envelope) {
  const auto d = static_cast<std::size_t>(dimension);
  if (bytes > d * sizeof(double))
    envelope.mutable_iterate()->mutable_vector()->Reserve(static_cast<int>(d));
  else if (bytes > d * sizeof(float))
    envelope.mutable_iterate()->mutable_rounded_vector()->Reserve(static_cast<int>(d));
}

}  // namespace

void parse(grpc::ByteBuffer& bytes, Index dimension, v1::Envelope& envelope) {
  envelope.Clear();
  reserve_vector(bytes.Length(), dimension, envelope);
  grpc::ProtoBufferReader reader(&bytes);
  google::protobuf::io::CodedInputStream input(&reader);
  if (!envelope.MergeFromCodedStream(&input) || !input.ConsumedEntireMessage()) envelope.Clear();
}

}  // namespace grove::peer
