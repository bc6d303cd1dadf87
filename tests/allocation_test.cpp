// No allocation per round after warm-up in the DRUID path, on one thread. Where agents publish link
// weights, this holds for rounds in which nobody publishes a new one; there are few others.

#include <memory>

#include <gtest/gtest.h>

#include "support/allocations.h"
#include "support/network.h"

namespace grove::testing_support {
namespace {

TEST(Allocations, AreCountedWhicheverWayTheyAreMade) {
  const long before = allocations();
  const auto by_new = std::make_unique<double>(1);
  EXPECT_GT(allocations(), before);
  const long between = allocations();
  const Matrix by_eigen = Matrix::Random(20, 20);
  EXPECT_GT(allocations(), between) << by_eigen.norm();
}

struct DruidCase {
  std::string name;
  DruidOptions options;
  std::size_t features = 22;
};

DruidOptions druid(LinkKind kind, LocalSolverOptions solver) {
  return {.coupling = {.kind = kind, .weighting = FixedPenalty{0.2}},
          .prox = 1,
          .theta_penalty = 0.4,
          .solver = std::move(solver)};
}

DruidOptions sampled_default(LinkKind kind, Sampling sampling) {
  DruidOptions options = default_druid({}, kind);
  options.solver = ProximalNewtonSteps{.sampling = sampling};
  return options;
}

std::vector<DruidCase> druid_cases() {
  std::vector<DruidCase> cases;
  for (const auto& [kind_name, kind] : std::vector<std::pair<std::string, LinkKind>>{
           {"Broadcast", LinkKind::broadcast}, {"Edge", LinkKind::edge}}) {
    const auto add = [&](const std::string& name, DruidOptions options, std::size_t features) {
      cases.push_back({kind_name + name, std::move(options), features});
    };
    add("FullBatches", druid(kind, NewtonSteps{FullBatches{}}), 22);
    add("MiniBatches", druid(kind, NewtonSteps{MiniBatches{.gradient = 11, .hessian = 17}}), 22);
    add("WideFeatures", druid(kind, NewtonSteps{FullBatches{}}), 70);
    add("GradientStep", druid(kind, GradientStep{}), 22);
    add("BfgsStep", druid(kind, BfgsStep{}), 22);
    add("ExactSolve", druid(kind, ExactSolve{}), 22);
    add("PublishedWeights", default_druid({}, kind), 22);
    add("WidePublishedWeights", default_druid({}, kind), 70);
    add("LowRankWeights", default_druid({LinkWeightShape::low_rank, 5}, kind), 22);
    add("PublishedWeightsVarianceReduced", sampled_default(kind, VarianceReduced{11, 17}), 22);
    add("PublishedWeightsAdaptive", sampled_default(kind, AdaptiveBatches{11, 17}), 22);
  }
  return cases;
}

/// One to each neighbour of every active agent, by the schedule itself.
std::uint64_t messages_of_last_round(const Simulator& simulator, const Graph& graph) {
  const std::size_t agents = simulator.agents().size();
  const Schedule schedule(1, std::vector<double>(agents, 0.8), std::vector<int>(agents, 3));
  std::uint64_t messages = 0;
  for (std::uint32_t i = 0; i < agents; ++i)
    if (schedule.activation(AgentId{i}, simulator.round())) messages += graph.degree(AgentId{i});
  return messages;
}

class DruidPath : public testing::TestWithParam<DruidCase> {};
INSTANTIATE_TEST_SUITE_P(Allocations, DruidPath, testing::ValuesIn(druid_cases()),
                         [](const testing::TestParamInfo<DruidCase>& tested) {
                           return tested.param.name;
                         });

// Shards of different sizes (the largest last), an agent that holds r, agents that are sometimes
// inactive.
TEST_P(DruidPath, ARoundAllocatesNothingOnceWarm) {
  const DruidCase& tested = GetParam();
  Problem problem =
      make_problem({.agents = 7, .samples = 7 * 40, .features = tested.features, .l1 = 0.01});
  for (Index rows = 34; Samples & shard : problem.shards) {
    shard = {DenseRows(std::get<DenseRows>(shard.features).topRows(rows)),
             Vector(shard.targets.head(rows))};
    ++rows;
  }
  const Instance instance = problem.instance();
  Simulator simulator = simulate({"", tested.options, 3}, instance, {.participation = 0.8});
  for (int round = 0; round < 20; ++round) simulator.advance();
  int quiet = 0;
  for (int round = 0; round < 50; ++round) {
    const std::uint64_t sent = simulator.cost().vectors_sent;
    const long before = allocations();
    simulator.advance();
    const long made = allocations() - before;
    if (simulator.cost().vectors_sent - sent > messages_of_last_round(simulator, instance.graph))
      continue;  // some message contained a link weight
    ++quiet;
    EXPECT_EQ(made, 0) << "in round " << simulator.round();
  }
  EXPECT_GE(quiet, published_form(tested.options) ? 40 : 50);
}

}  // namespace
}  // namespace grove::testing_support
