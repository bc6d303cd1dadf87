#include "grove/runtime/delay_queue.h"

#include <algorithm>

namespace grove {

void DelayQueue::post(Round arrival, std::size_t slot, const Message& message) {
  by_arrival_[arrival].push_back({slot, StoredMessage(message)});
}

void DelayQueue::deliver(Round now, Agent& receiver) {
  while (!by_arrival_.empty() && by_arrival_.begin()->first <= now) {
    auto& letters = by_arrival_.begin()->second;
    std::ranges::stable_sort(letters, {}, &Envelope::slot);
    for (const Envelope& letter : letters) receiver.receive(letter.slot, letter.message.view());
    by_arrival_.erase(by_arrival_.begin());
  }
}

void DelayQueue::save(ByteWriter& writer) const {
  std::uint64_t count = 0;
  for (const auto& [arrival, letters] : by_arrival_) count += letters.size();
  writer.put(count);
  for (const auto& [arrival, letters] : by_arrival_)
    for (const Envelope& letter : letters) {
      const Message message = letter.message.view();
      writer.put(arrival);
      writer.put(static_cast<std::uint64_t>(letter.slot));
      writer.put(message.from);
      writer.put(message.sequence);
      writer.put(static_cast<std::uint64_t>(message.payload.size()));
      writer.put(message.payload);
    }
}

void DelayQueue::load(ByteReader& reader) {
  by_arrival_.clear();
  std::uint64_t count = 0;
  reader.get(count);
  for (std::uint64_t k = 0; k < count && reader.ok(); ++k) {
    Round arrival = 0;
    std::uint64_t slot = 0, size = 0;
    Message message;
    reader.get(arrival);
    reader.get(slot);
    reader.get(message.from);
    reader.get(message.sequence);
    reader.get(size);
    if (!reader.ok()) return;
    std::vector<double> payload(size);
    reader.get(std::span<double>(payload));
    message.payload = payload;
    post(arrival, slot, message);
  }
}

}  // namespace grove
