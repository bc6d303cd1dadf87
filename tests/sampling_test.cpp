// Sampling that converges: variance-reduced and adaptive batches, starting at 100, reach a relative
// error of 1e-8 on ten agents without any size being chosen, with published link weights and with
// the paper's fixed penalty. The optimum they are measured against comes from the centralized
// solver.

#include <cstdlib>
#include <filesystem>
#include <optional>

#include <gtest/gtest.h>

#include "grove/base/test_seeds.h"
#include "grove/train/run.h"

namespace grove {
namespace {

Config config_of(SamplingKind sampling, const std::string& data) {
  Config config;
  config.data = data;
  config.l1 = 1e-4;
  config.l2 = 1e-3;  // without it the optima of a9a and w8a do not look unique
  config.sampling = sampling;
  config.tolerance = 0;
  config.rounds = 400;
  return config;
}

/// Costs at the first round with a relative error of 1e-8; nothing if the run never got there.
std::optional<TracePoint> at_1e8(const Config& config) {
  std::optional<TracePoint> reached;
  RunHooks hooks;
  hooks.measured = [&](const TracePoint& point) {
    if (!reached && point.relative_error && *point.relative_error <= 1e-8) reached = point;
  };
  hooks.interrupted = [&] { return reached.has_value(); };
  const auto record = run(config, hooks);
  EXPECT_TRUE(record) << record.error().what;
  return reached;
}

class ConvergingSampling : public testing::TestWithParam<SamplingKind> {};
INSTANTIATE_TEST_SUITE_P(Sampling, ConvergingSampling,
                         testing::Values(SamplingKind::variance_reduced, SamplingKind::adaptive),
                         [](const testing::TestParamInfo<SamplingKind>& tested) {
                           return tested.param == SamplingKind::adaptive ? "Adaptive"
                                                                         : "VarianceReduced";
                         });

TEST_P(ConvergingSampling, Reaches1e8OnTheBuiltInSetWithPublishedWeights) {
  EXPECT_TRUE(at_1e8(config_of(GetParam(), "synthetic:ijcnn-like,samples=10000")));
}

// A fixed penalty and five local steps: fewer samples are evaluated than with whole shards, of
// which every step evaluates gradient and Hessian.
TEST_P(ConvergingSampling, Reaches1e8WithAPenaltyAndFewerSamplesThanWholeShards) {
  Config config = config_of(GetParam(), "synthetic:ijcnn-like,samples=10000");
  config.penalty = 1e-2;
  config.l1 = 0;
  config.l2 = 1e-2;
  const auto sampled = at_1e8(config);
  config.sampling = SamplingKind::full;
  const auto whole = at_1e8(config);
  ASSERT_TRUE(sampled && whole);
  EXPECT_LT(sampled->cost.gradient_samples, whole->cost.gradient_samples);
  EXPECT_LT(10 * sampled->cost.hessian_samples, whole->cost.hessian_samples);
}

TEST(MiniBatchSampling, OfTheSameSizeStaysAboveIt) {
  Config config = config_of(SamplingKind::minibatch, "synthetic:ijcnn-like,samples=4000");
  config.penalty = 1e-2;
  config.l2 = 1e-2;
  EXPECT_FALSE(at_1e8(config));
}

TEST_P(ConvergingSampling, Reaches1e8OnAllRowsOfTheRealSets) {
  if (sanitized) GTEST_SKIP() << "too long under a sanitizer; the built-in set runs the same code";
  const char* folder = std::getenv("GROVE_DATA_DIR");
  const std::filesystem::path data = folder ? folder : GROVE_SOURCE_DIR "/../shared/data";
  for (const std::string name : {"ijcnn1", "a9a", "w8a"}) {
    const auto file = data / (name + ".bz2");
    if (!std::filesystem::exists(file))
      GTEST_SKIP() << file << " is absent: set GROVE_DATA_DIR to the folder that has it";
    EXPECT_TRUE(at_1e8(config_of(GetParam(), file.string()))) << name;
  }
}

}  // namespace
}  // namespace grove
