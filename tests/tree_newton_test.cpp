// tree-newton under faults and on hard instances, in short; bench/sums has the long forms.

#include <cmath>

#include <gtest/gtest.h>

#include "support/fault_storm.h"

namespace grove::testing_support {
namespace {

// Whatever happens on the way, all members that are there at the end finish at the optimum of their
// own data, to 1e-7 of its norm, and no total was ever of other members than those of its tree.
void expect_exact(std::uint64_t first, int wanted, HessianWaves hessians, bool masked = false) {
  int played = 0;
  for (std::uint64_t seed = first; played < wanted; ++seed) {
    const auto outcome = fault_storm(seed, hessians, masked);
    if (!outcome) continue;
    ++played;
    EXPECT_TRUE(outcome->exact) << "seed " << seed << ": " << outcome->rounds << " rounds, error "
                                << outcome->squared_error << ", " << outcome->description;
    EXPECT_EQ(outcome->refused_totals, 0u) << "seed " << seed;
  }
}

TEST(FaultStorms, EndAtTheOptimumOfTheMembersPresent) { expect_exact(1, 30, HessianWaves::eager); }
TEST(FaultStorms, EndThereWithOldHessians) { expect_exact(5001, 12, HessianWaves::lazy); }
TEST(FaultStorms, EndThereWithHessiansOnTheSupport) {
  expect_exact(7001, 6, HessianWaves::support);
}
TEST(FaultStorms, EndThereWithMaskedSums) { expect_exact(9001, 20, HessianWaves::eager, true); }

// The root of the network works in one of twenty rounds. It publishes its pace, another agent
// becomes the root, and the network ends at the optimum.
TEST(SlowRoot, IsReplacedByAFasterAgent) {
  Glms parts;
  for (Index k = 0; k < 5; ++k) {
    Matrix X(6, 2);
    Vector y(6);
    for (Index j = 0; j < 6; ++j) {
      X.row(j) << 1, std::sin(static_cast<double>(1 + 7 * k + 3 * j));
      y[j] = (j + k) % 2 == 0 ? 1 : 0;
    }
    parts.push_back(
        std::make_shared<GlmObjective>(GlmObjective::Data{X, y, GlmFamily::logistic, 1e-2}));
  }
  const TreeProblem problem{.parts = parts,
                            .edges = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {1, 3}, {0, 4}}};
  const auto root_after = [&](const std::vector<double>& participation) {
    TreeNetwork network(problem, {}, {.participation = participation});
    while (!network.finished() && network.round() < 5000) network.advance();
    EXPECT_TRUE(network.finished());
    const Vector optimum = glm_optimum(parts, 0);
    EXPECT_LT((network.agents()[0]->estimate() - optimum).norm(), 1e-8 * optimum.norm());
    return network.agents()[0]->sums().plan().root;
  };
  const AgentId usual = root_after({1, 1, 1, 1, 1});
  std::vector<double> slow(5, 1.0);
  slow[usual.value] = 0.05;
  EXPECT_NE(root_after(slow), usual);
}

// The gap is within 1e-9 of the objective on every kind, with and without the intro wave.
TEST(HardInstances, AreSolvedFromAnyStart) {
  for (std::uint64_t seed = 1; seed <= 48; ++seed) {
    const HardOutcome outcome =
        hard_instance(seed, {.tolerance = 1e-8, .intro = seed / 8 % 2 == 1});
    EXPECT_TRUE(outcome.finished) << "seed " << seed << ": " << outcome.kind;
    EXPECT_LT(outcome.gap, 1e-9) << "seed " << seed << ": " << outcome.kind;
  }
}

// Fixed point has the range: units grow where numbers do not fit.
TEST(HardInstances, AreSolvedWithMaskedSums) {
  for (std::uint64_t seed = 1; seed <= 48; ++seed) {
    const HardOutcome outcome = hard_instance(seed, {.tolerance = 1e-8, .intro = true}, true);
    EXPECT_TRUE(outcome.finished) << "seed " << seed << ": " << outcome.kind;
    EXPECT_LT(outcome.gap, 1e-9) << "seed " << seed << ": " << outcome.kind;
  }
}

// Separable data without any penalty: the objective has an infimum of zero and no minimizer. The
// network ends near it, with an event.
TEST(HardInstances, WithoutAMinimizerEndWithAnEvent) {
  Matrix X(4, 2);
  X << 1, 1, 1, 2, 1, -1, 1, -2;
  const Vector y{{1, 1, 0, 0}};
  Glms parts;
  for (Index k = 0; k < 2; ++k)
    parts.push_back(std::make_shared<GlmObjective>(
        GlmObjective::Data{X.middleRows(2 * k, 2), y.segment(2 * k, 2)}));
  TreeNetwork network({.parts = parts, .edges = {{0, 1}}}, {});
  while (!network.finished() && network.round() < 500) network.advance();
  EXPECT_TRUE(network.finished());
  EXPECT_LT(glm_value(parts, 0, network.agents()[0]->estimate()), 1e-12);
  // Single Newton steps, each of which lowers the objective by a factor of e, take more than
  // thirty.
  EXPECT_LE(network.agents()[0]->sums().wave().id.number(), 12u);
  const auto events = network.agents()[0]->events();
  EXPECT_TRUE(std::ranges::any_of(events, [](const AgentEvent& event) {
    return event.kind == AgentEvent::Kind::no_minimizer;
  }));
}

}  // namespace
}  // namespace grove::testing_support
