#include "grove/runtime/mpi/exchange.h"

#include <mpi.h>

#include "grove/network/topology.h"
#include "grove/runtime/mpi/collectives.h"
#include "main.h"

// On a complete graph, agent i sends in round t to each neighbour j a message whose fields and
// lengths differ by link and round: vectors shorter and longer than d, with and without hop counts,
// weights and weight updates. Its numbers identify sender, receiver, round and position.
namespace grove::mpi {
namespace {

constexpr std::uint32_t agents = 12;

template <class Number>
std::vector<Number> numbers(std::size_t count, AgentId from, AgentId to, Round round) {
  std::vector<Number> result(count);
  for (std::size_t k = 0; k < count; ++k)
    result[k] =
        static_cast<Number>(from.value + 100.0 * to.value + 1e4 * static_cast<double>(round) +
                            1e-3 * static_cast<double>(k));
  return result;
}

StoredMessage message_on(AgentId from, AgentId to, Round round) {
  const std::uint64_t variant = from.value * 7 + to.value * 3 + round;
  const auto vector = numbers<double>(variant % 14, from, to, round);
  const auto update = numbers<float>(variant % 5 == 0 ? variant % 32 : 0, from, to, round);
  Message message{.sender = from, .sequence = round, .vector = vector, .weight_update = update};
  if (variant % 2 == 0)
    message.hops = HopCounts{.from_root = static_cast<float>(from.value), .depth = 3};
  if (variant % 3 == 0)
    message.weights =
        WeightPair{.sender = {.version = static_cast<std::int64_t>(round), .digest = from.value},
                   .receiver = {.version = WeightId::none, .digest = to.value}};
  return StoredMessage(message);
}

template <class Number>
std::vector<Number> copy_of(std::span<const Number> values) {
  return {values.begin(), values.end()};
}

bool active(AgentId agent, Round round) { return (agent.value + round) % 3 != 0; }

TEST(Exchange, DeliversMessagesOfAnyLengthFromTheActiveAgents) {
  const auto graph = make_graph("complete", agents, 1);
  ASSERT_TRUE(graph);
  Exchange exchange(MPI_COMM_WORLD, *graph);
  const AgentRange own = agents_of(agents, rank_in(MPI_COMM_WORLD), size_of(MPI_COMM_WORLD));
  std::vector<StoredMessage> sent;  // messages borrow their numbers
  std::uint64_t expected_vectors = 0;
  for (Round round = 1; round <= 6; ++round) {
    const auto is_active = [&](AgentId agent) { return active(agent, round); };
    exchange.begin(is_active, [&](const Exchange::Link& link) {
      EXPECT_TRUE(own.contains(link.from));
      EXPECT_TRUE(is_active(link.from));
      return sent.emplace_back(message_on(link.from, link.to, round)).view();
    });
    exchange.finish(is_active);
    for (std::uint32_t receiver = own.first; receiver < own.last; ++receiver)
      for (std::uint32_t sender = 0; sender < agents; ++sender) {
        const AgentId from{sender}, to{receiver};
        if (own.contains(from)) continue;
        expected_vectors += active(to, round);  // in the other direction of the same link
        const Message* message = exchange.received(from, to);
        ASSERT_EQ(message != nullptr, active(from, round));
        if (!message) continue;
        const StoredMessage stored = message_on(from, to, round);
        const Message expected = stored.view();
        EXPECT_EQ(message->sender, from);
        EXPECT_EQ(message->sequence, round);
        EXPECT_EQ(message->hops, expected.hops);
        EXPECT_EQ(message->weights, expected.weights);
        EXPECT_EQ(copy_of(message->vector), copy_of(expected.vector));
        EXPECT_EQ(copy_of(message->weight_update), copy_of(expected.weight_update));
      }
  }
  EXPECT_EQ(exchange.vectors_sent(), expected_vectors);
}

TEST(Blocks, AreContiguousAndDifferByOneAtMost) {
  for (int processes : {1, 2, 3, 7, 12})
    for (std::uint32_t i = 0; i < agents; ++i) {
      const int home = process_of(AgentId{i}, agents, processes);
      const AgentRange block = agents_of(agents, home, processes);
      EXPECT_TRUE(block.contains(AgentId{i}));
      EXPECT_LE(block.size(), agents / processes + 1);
      EXPECT_GE(block.size(), agents / processes);
    }
}

}  // namespace
}  // namespace grove::mpi
