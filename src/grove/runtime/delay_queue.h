#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "grove/agent/agent.h"
#include "grove/schedule/schedule.h"

namespace grove {

/// Copies of messages to one agent that are still on their way.
class DelayQueue {
 public:
  void post(Round arrival, std::size_t slot, const Message& message);

  /// Delivers what is due by `now`: by arrival, then by slot, then in the order posted.
  void deliver(Round now, Agent& receiver);

  void save(ByteWriter& writer) const;
  void load(ByteReader& reader);

 private:
  struct Envelope {
    std::size_t slot;
    StoredMessage message;
  };
  std::map<Round, std::vector<Envelope>> by_arrival_;
};

}  // namespace grove
