#include "grove/runtime/delay_queue.h"

#include <algorithm>

#include "grove/agent/message_codec.h"

namespace grove {

void DelayQueue::post(Round arrival, std::size_t slot, const Message& message) {
  by_arrival_[arrival].push_back({slot, StoredMessage(message)});
}

void DelayQueue::deliver(Round now, Agent& receiver) {
  while (!by_arrival_.empty() && by_arrival_.begin()->first <= now) {
    auto& envelopes = by_arrival_.begin()->second;
    std::ranges::stable_sort(envelopes, {}, &Envelope::slot);
    for (const Envelope& envelope : envelopes)
      receiver.receive(envelope.slot, envelope.message.view());
    by_arrival_.erase(by_arrival_.begin());
  }
}

void DelayQueue::save(ByteWriter& writer) const {
  std::uint64_t count = 0;
  for (const auto& [arrival, envelopes] : by_arrival_) count += envelopes.size();
  writer.put(count);
  for (const auto& [arrival, envelopes] : by_arrival_)
    for (const Envelope& envelope : envelopes) {
      MessageBuffer encoded;
      encoded.append(envelope.message.view());
      writer.put(arrival);
      writer.put(static_cast<std::uint64_t>(envelope.slot));
      writer.put_bytes({static_cast<const char*>(encoded.data()), encoded.size()});
    }
}

void DelayQueue::load(ByteReader& reader) {
  by_arrival_.clear();
  std::uint64_t count = 0;
  reader.get(count);
  for (std::uint64_t k = 0; k < count && reader.ok(); ++k) {
    Round arrival = 0;
    std::uint64_t slot = 0;
    reader.get(arrival);
    reader.get(slot);
    const std::string_view bytes = reader.get_bytes();
    if (!reader.ok() || bytes.size() % 8 != 0) return reader.fail();
    MessageBuffer encoded;
    std::ranges::copy(bytes, static_cast<char*>(encoded.receive_into(bytes.size())));
    const auto message = MessageBuffer::Reader(encoded).next();
    if (!message) return reader.fail();
    post(arrival, slot, *message);
  }
}

}  // namespace grove
