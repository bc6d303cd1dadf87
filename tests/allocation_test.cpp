// No allocation per round after warm-up in the DRUID path, on one thread.

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
  LinkKind link = LinkKind::broadcast;
  LocalSolverOptions solver = NewtonSteps{};
  std::size_t features = 22;
};

std::vector<DruidCase> druid_cases() {
  std::vector<DruidCase> cases;
  for (const auto& [link_name, link] : std::vector<std::pair<std::string, LinkKind>>{
           {"Broadcast", LinkKind::broadcast}, {"Edge", LinkKind::edge}}) {
    cases.push_back({link_name + "FullBatches", link, NewtonSteps{FullBatches{}}});
    cases.push_back(
        {link_name + "MiniBatches", link, NewtonSteps{MiniBatches{.gradient = 11, .hessian = 17}}});
    cases.push_back({link_name + "WideFeatures", link, NewtonSteps{FullBatches{}}, 70});
    cases.push_back({link_name + "GradientStep", link, GradientStep{}});
    cases.push_back({link_name + "BfgsStep", link, BfgsStep{}});
    cases.push_back({link_name + "ExactSolve", link, ExactSolve{}});
  }
  return cases;
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
  const MethodCase method{"",
                          DruidOptions{.link = tested.link,
                                       .penalty = 0.2,
                                       .theta_penalty = 0.4,
                                       .prox = 1,
                                       .solver = tested.solver},
                          3};
  Simulator simulator = simulate(method, instance, {.participation = 0.8});
  for (int round = 0; round < 20; ++round) simulator.advance();
  const long before = allocations();
  for (int round = 0; round < 50; ++round) simulator.advance();
  EXPECT_EQ(allocations() - before, 0);
}

}  // namespace
}  // namespace grove::testing_support
