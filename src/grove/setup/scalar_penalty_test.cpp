#include "grove/setup/scalar_penalty.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "grove/network/topology.h"
#include "grove/setup/method_setup.h"
#include "grove/train/run.h"

namespace grove {
namespace {

Instance gaussian(Index features, double scale = 1) {
  Config config;
  config.data = fmt::format("synthetic:gaussian,samples=300,features={},scale={}", features, scale);
  config.agents = 3;
  config.graph = "path";
  return std::move(*make_instance(config));
}

double dense_mean_diagonal(const Objective& objective, const Vector& x) {
  ObjectiveScratch scratch;
  Vector gradient;
  Matrix hessian;
  objective.evaluate(x, Batch::all(), &gradient, &hessian, scratch);
  return hessian.diagonal().mean();
}

TEST(MeanHessianDiagonal, IsThatOfTheDenseHessian) {
  const Instance instance = gaussian(7);
  const Vector x = Vector::LinSpaced(7, -1, 1);
  for (const auto& objective : instance.objectives)
    EXPECT_NEAR(mean_hessian_diagonal(*objective, x), dense_mean_diagonal(*objective, x), 1e-14);
}

TEST(MeanHessianDiagonal, IsEstimatedFromOneHundredProductsBeyondAsManyCoefficients) {
  const Instance instance = gaussian(350);
  const double exact = dense_mean_diagonal(*instance.mean, instance.start());
  EXPECT_NEAR(mean_hessian_diagonal(*instance.mean, instance.start()) / exact, 1, 0.05);
}

// At zero the Hessian of the logistic loss is w w'/4 for a sample w.
TEST(AutomaticFixedPenalty, FollowsTheUnitsOfTheFeatures) {
  const Instance usual = gaussian(4), scaled = gaussian(4, 1000);
  const double penalty = automatic_scalar_penalty(*usual.mean, usual.start(), usual.graph);
  EXPECT_NEAR(automatic_scalar_penalty(*scaled.mean, scaled.start(), scaled.graph) / penalty, 1e6,
              1e-6);
  const double degree = 4.0 / 3;
  EXPECT_NEAR(penalty, dense_mean_diagonal(*usual.mean, usual.start()) / (4 * degree), 1e-12);
}

// Huber's loss is linear where residuals are large, and so is every objective at the start.
TEST(AutomaticFixedPenalty, IsPositiveWhereTheHessianVanishesAtTheStart) {
  Config config;
  config.data = "synthetic:gaussian,samples=60,features=3";
  config.agents = 3;
  config.loss = HuberLoss{1e-9};
  const Instance instance = std::move(*make_instance(config));
  EXPECT_EQ(mean_hessian_diagonal(*instance.mean, instance.start()), 0);
  EXPECT_GT(automatic_scalar_penalty(*instance.mean, instance.start(), instance.graph), 0);
}

TEST(AutomaticFixedPenalty, MakesRoundsIndependentOfTheUnitsOfTheFeatures) {
  Config config;
  config.rounds = 1000;
  for (const Method method :
       {Method::druid_newton, Method::druid_gd, Method::druid_bfgs, Method::exact_admm}) {
    config.method = method;
    std::vector<Round> rounds;
    for (const char* scale : {"0.001", "1", "1000"}) {
      config.data = fmt::format("synthetic:gaussian,features=5,samples=500,scale={}", scale);
      const auto record = run(config);
      ASSERT_TRUE(record) << record.error().text();
      EXPECT_EQ(record->outcome.status, RunStatus::converged) << method.name() << ' ' << scale;
      rounds.push_back(record->outcome.rounds);
    }
    EXPECT_NEAR(static_cast<double>(rounds[0]), static_cast<double>(rounds[1]), 1) << method.name();
    EXPECT_NEAR(static_cast<double>(rounds[2]), static_cast<double>(rounds[1]), 1) << method.name();
  }
}

// 499,500 links of 22 (22 + 1) / 2 floats, four times: 2.0 GB.
TEST(AutomaticPenalty, IsDiagonalWhereMatricesOfAllLinksWouldFillTheMemory) {
  Config config;
  config.agents = 1000;
  config.graph = "complete";
  const Instance instance = std::move(*make_instance(config));
  const auto setup = set_up_method(config, instance);
  ASSERT_TRUE(setup) << setup.error().text();
  ASSERT_TRUE(setup->resolved.penalty.published_form());
  EXPECT_EQ(setup->resolved.penalty.published_form()->shape, LinkWeightShape::diagonal);
  ASSERT_EQ(setup->notes.size(), 1u);
  EXPECT_NE(setup->notes[0].find("2.0 GB"), std::string::npos) << setup->notes[0];
}

}  // namespace
}  // namespace grove
