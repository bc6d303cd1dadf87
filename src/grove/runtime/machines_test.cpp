#include "grove/runtime/machines.h"

#include <gtest/gtest.h>

#include "grove/network/topology.h"

namespace grove {
namespace {

// Path 0 - 1 - 2 with latencies 0.5 and 2 seconds, d = 3, and agent 2 at a quarter of the
// reference.
Machines three_machines() {
  const std::vector<double> latencies{0.5, 2};
  return Machines({1, 1, 0.25}, *make_graph("path", 3, 1), latencies, 3);
}

TEST(Machines, SecondsAreOperationsOverSpeed) {
  const Cost before{.gradient_samples = 7};
  const Cost after{.vectors_sent = 2, .gradient_samples = 17, .hessian_samples = 5, .solves = 1};
  // 10 gradients of 4 * 3, 5 Hessians of 3 * 4, a system of 27 / 3 + 2 * 9, 2 vectors of 4 * 3.
  const double operations = 120 + 60 + 27 + 24;
  EXPECT_DOUBLE_EQ(three_machines().work_seconds(AgentId{0}, before, after), operations * 1e-9);
  EXPECT_DOUBLE_EQ(three_machines().work_seconds(AgentId{2}, before, after), operations * 4e-9);
}

TEST(Machines, ALinkTakesAsLongInBothDirections) {
  const Machines machines = three_machines();
  EXPECT_EQ(machines.latency(AgentId{0}, 0), 0.5);
  EXPECT_EQ(machines.latency(AgentId{1}, 0), 0.5);
  EXPECT_EQ(machines.latency(AgentId{1}, 1), 2);
  EXPECT_EQ(machines.latency(AgentId{2}, 0), 2);
  EXPECT_EQ(machines.longest_latency(AgentId{1}), 2);
}

}  // namespace
}  // namespace grove
