#pragma once

#include <cstddef>
#include <vector>

#include "grove/agent/message.h"

namespace grove {

/// Messages one after the other in one piece of memory: the encoding of every transport between
/// processes of one job (MPI) and of messages in checkpoints. Byte order is the machine's. Each
/// message is a header, the optional fields, the vector, the weight update and the tree fields,
/// each padded to 8 bytes.
class MessageBuffer {
 public:
  void clear() { bytes_.clear(); }
  void append(const Message& message);

  // The memory, for a transport to send from or to receive into.
  std::size_t size() const { return bytes_.size() * sizeof(Word); }
  const void* data() const { return bytes_.data(); }
  /// Makes room for that many received bytes, a multiple of 8.
  void* receive_into(std::size_t bytes);

  /// Reads messages in the order in which they were appended. Their spans point into the buffer.
  class Reader {
   public:
    explicit Reader(const MessageBuffer& buffer) : rest_(buffer.bytes_) {}
    /// None at the end, and where the bytes are not those of a message.
    std::optional<Message> next();
    bool finished() const { return rest_.empty(); }

   private:
    std::span<const std::uint64_t> rest_;
  };

 private:
  using Word = std::uint64_t;  ///< aligns the numbers of a message
  std::vector<Word> bytes_;
};

}  // namespace grove
