#include "grove/runtime/mpi/exchange.h"

#include <mpi.h>

#include "grove/network/topology.h"
#include "main.h"

// Agent i on a complete graph says in round t to each neighbour j: lengths that differ by link and
// round, shorter and longer than d, with values that name sender, receiver, round and position.
namespace grove::mpi {
namespace {

constexpr Index dimension = 5;
constexpr std::uint32_t agents = 12;

std::vector<double> words(AgentId from, AgentId to, Round round) {
  std::vector<double> result((from.value * 7 + to.value * 3 + round) % 14);
  for (std::size_t k = 0; k < result.size(); ++k)
    result[k] = from.value + 100.0 * to.value + 1e4 * static_cast<double>(round) +
                1e-3 * static_cast<double>(k);
  return result;
}

bool active(AgentId agent, Round round) { return (agent.value + round) % 3 != 0; }

TEST(Exchange, BringsMessagesOfAnyLengthFromThoseWhoSpoke) {
  const auto graph = make_graph("complete", agents, 1);
  ASSERT_TRUE(graph);
  Exchange exchange(MPI_COMM_WORLD, *graph, dimension);
  std::vector<double> said;
  for (Round round = 1; round <= 6; ++round) {
    exchange.pack([&](AgentId agent) { return active(agent, round); },
                  [&](const Exchange::Link& link) {
                    said = words(link.from, link.to, round);
                    return Message{.from = link.from, .sequence = round, .payload = said};
                  });
    exchange.begin();
    exchange.finish();
    for (std::size_t k = 0; k < exchange.incoming().size(); ++k) {
      const auto& link = exchange.incoming()[k];
      const Message* message = exchange.heard(k);
      ASSERT_EQ(message != nullptr, active(link.from, round));
      if (!message) continue;
      EXPECT_EQ(message->from, link.from);
      EXPECT_EQ(message->sequence, round);
      EXPECT_EQ(std::vector<double>(message->payload.begin(), message->payload.end()),
                words(link.from, link.to, round));
    }
  }
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
