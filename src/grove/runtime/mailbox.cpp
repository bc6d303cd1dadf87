#include "grove/runtime/mailbox.h"

#include <algorithm>

namespace grove {

void Mailbox::post(Round arrival, std::size_t slot, const Message& message) {
  by_arrival_[arrival].push_back({slot, StoredMessage(message)});
}

void Mailbox::deliver(Round now, Agent& receiver) {
  while (!by_arrival_.empty() && by_arrival_.begin()->first <= now) {
    auto& letters = by_arrival_.begin()->second;
    std::ranges::stable_sort(letters, {}, &Letter::slot);
    for (const Letter& letter : letters) receiver.receive(letter.slot, letter.message.view());
    by_arrival_.erase(by_arrival_.begin());
  }
}

}  // namespace grove
