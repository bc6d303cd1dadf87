// No allocation per round after warm-up in the DRUID path, on one thread. With curvature links
// that is said of rounds in which nobody tells a new curvature: there are few others.

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
  MethodOptions options;
  std::size_t features = 22;
};

DruidOptions druid(LinkKind link, LocalSolverOptions solver) {
  return {.link = link, .penalty = 0.2, .theta_penalty = 0.4, .prox = 1, .solver = solver};
}

std::vector<DruidCase> druid_cases() {
  std::vector<DruidCase> cases;
  for (const auto& [link_name, link] : std::vector<std::pair<std::string, LinkKind>>{
           {"Broadcast", LinkKind::broadcast}, {"Edge", LinkKind::edge}}) {
    const auto add = [&](const std::string& name, MethodOptions options, std::size_t features) {
      cases.push_back({link_name + name, std::move(options), features});
    };
    add("FullBatches", druid(link, NewtonSteps{FullBatches{}}), 22);
    add("MiniBatches", druid(link, NewtonSteps{MiniBatches{.gradient = 11, .hessian = 17}}), 22);
    add("WideFeatures", druid(link, NewtonSteps{FullBatches{}}), 70);
    add("GradientStep", druid(link, GradientStep{}), 22);
    add("BfgsStep", druid(link, BfgsStep{}), 22);
    add("ExactSolve", druid(link, ExactSolve{}), 22);
    add("Curvature", CurvatureDruidOptions{.link = link}, 22);
    add("WideCurvature", CurvatureDruidOptions{.link = link}, 70);
    const CurvatureForm low_rank{CurvatureShape::low_rank, 5};
    add("LowRankCurvature", CurvatureDruidOptions{.link = link, .form = low_rank}, 22);
    add("CurvatureVarianceReduced",
        CurvatureDruidOptions{.link = link, .sampling = VarianceReduced{11, 17}}, 22);
    add("CurvatureAdaptive",
        CurvatureDruidOptions{.link = link, .sampling = AdaptiveBatches{11, 17}}, 22);
  }
  return cases;
}

/// One to each neighbour of every agent that worked, by the schedule itself.
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

// Shards of different sizes (the largest last), an agent that holds r, agents that sometimes rest.
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
      continue;  // some message held a curvature
    ++quiet;
    EXPECT_EQ(made, 0) << "in round " << simulator.round();
  }
  EXPECT_GE(quiet, std::holds_alternative<DruidOptions>(tested.options) ? 50 : 40);
}

}  // namespace
}  // namespace grove::testing_support
