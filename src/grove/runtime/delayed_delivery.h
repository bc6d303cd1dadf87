#pragma once

#include <string>
#include <vector>

#include "grove/agent/agent.h"
#include "grove/runtime/delay_queue.h"
#include "grove/schedule/schedule.h"

namespace grove {

/// Delivers messages to agents: at once on perfect links, otherwise lost or late by random draws.
class DelayedDelivery {
 public:
  DelayedDelivery(std::size_t receivers, const LinkFaults& faults, std::uint64_t seed)
      : faults_(faults), seed_(seed), queues_(faults.none() ? 0 : receivers) {}

  /// `inbox`: the receiver's position in its process. `slot`: of the sender at the receiver.
  /// False: the message is lost.
  bool accept(std::size_t inbox, AgentId to, Agent& receiver, std::size_t slot,
              const Message& message, Round round) {
    if (queues_.empty()) {
      receiver.receive(slot, message);
      return true;
    }
    const auto late = faults_.draw_delay(seed_, message.sender, to, round);
    if (late) queues_[inbox].post(round + *late, slot, message);
    return late.has_value();
  }

  /// After all messages of a round: delivers late messages that are due now.
  void deliver_due(std::size_t inbox, Agent& receiver, Round round) {
    if (!queues_.empty()) queues_[inbox].deliver(round, receiver);
  }

  /// An agent's state with the messages on their way to it, and back.
  std::string state_of(std::size_t inbox, const Agent& agent) const {
    ByteWriter writer;
    agent.save(writer);
    if (!queues_.empty()) queues_[inbox].save(writer);
    return writer.bytes();
  }
  Status restore(std::size_t inbox, Agent& agent, std::string_view state) {
    ByteReader reader(state);
    if (Status status = agent.load(reader); !status) return status;
    if (!queues_.empty()) queues_[inbox].load(reader);
    if (!reader.finished()) return Error{"agent state", "does not fit this agent's links"};
    return success();
  }

 private:
  LinkFaults faults_;
  std::uint64_t seed_;
  std::vector<DelayQueue> queues_;  ///< empty when links are perfect
};

}  // namespace grove
