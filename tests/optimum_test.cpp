// Every method solves the same problem: for each loss and each regularizer all of them must end at
// the optimum of the whole problem, with the same coefficients exactly zero or at a bound.

#include <gtest/gtest.h>

#include "grove/data/dataset.h"
#include "support/problem.h"

namespace grove::testing_support {
namespace {

struct ProblemCase {
  std::string name;
  ProblemOptions options;
  std::vector<double> kinks;  ///< where a coefficient of the optimum must be found, exactly
};

/// Five agents, six features. Weights are such that some coefficients sit at a kink of r, and some
/// do not.
std::vector<ProblemCase> problem_cases() {
  std::vector<ProblemCase> cases;
  for (const auto& [loss_name, loss] : std::vector<std::pair<std::string, Loss>>{
           {"Logistic", LogisticLoss{}}, {"Squared", SquaredLoss{}}, {"Huber", HuberLoss{0.4}}}) {
    const ProblemOptions plain{
        .agents = 5, .samples = 150, .features = 6, .terms = {.loss = loss, .l2 = 0}, .seed = 3};
    const auto add = [&](const std::string& name, std::vector<double> kinks, auto change) {
      ProblemCase next{loss_name + name, plain, std::move(kinks)};
      change(next.options);
      cases.push_back(next);
    };
    add("Plain", {}, [](ProblemOptions&) {});
    add("L1", {0}, [](ProblemOptions& o) { o.l1 = 0.1; });
    add("ElasticNet", {0}, [](ProblemOptions& o) { o.l1 = 0.1, o.terms.l2 = 0.1; });
    add("NonNegative", {0}, [](ProblemOptions& o) { o.constraint.low = 0; });
    add("Box", {-0.05, 0.3}, [](ProblemOptions& o) { o.constraint = {-0.05, 0.3}; });
    add("L1AndIntercept", {0}, [](ProblemOptions& o) { o.l1 = 0.1, o.terms.intercept = true; });
  }
  return cases;
}

class EveryProblem : public testing::TestWithParam<ProblemCase> {};
INSTANTIATE_TEST_SUITE_P(Optimum, EveryProblem, testing::ValuesIn(problem_cases()),
                         [](const testing::TestParamInfo<ProblemCase>& tested) {
                           return tested.param.name;
                         });

Config config_for(Method method) {
  Config config;
  config.agents = 5;
  config.method = method;
  config.penalty = 0.2;
  config.work = "3";
  config.rounds = 6000;
  config.tolerance = 1e-20;
  config.measure_every = 10;
  config.threads = 1;
  if (method == Method::druid_gd) config.prox = 2;
  return config;
}

/// The answer of a method whose agents each apply r is a mean, whose coefficients tend to a kink
/// without being there exactly: PG-EXTRA's agents may end on the very edge of their thresholds.
Vector snapped(Vector x, const std::vector<double>& kinks) {
  for (double& value : x)
    for (const double kink : kinks)
      if (std::abs(value - kink) < 1e-9) value = kink;
  return x;
}

// Oracle: the optimality condition, by the test's own loops, of the reference and of every answer.
TEST_P(EveryProblem, EveryMethodEndsAtTheOptimum) {
  Problem problem = make_problem(GetParam().options);
  // A shift of the targets gives the intercept something to do.
  if (problem.terms.intercept && !is_classification(problem.terms.loss))
    for (Samples& shard : problem.shards) shard.targets.array() += 1.5;
  const PreparedProblem prepared = problem.prepared();
  const Vector& optimum = prepared.reference->x;
  ASSERT_LT(optimality_violation(problem, optimum), 1e-11);
  const auto coefficients = optimum.head(6);
  for (const double kink : GetParam().kinks)
    ASSERT_GT((coefficients.array() == kink).count(), 0) << kink << " in " << optimum.transpose();
  ASSERT_GT((coefficients.array() != 0).count(), 0);
  if (problem.terms.intercept) {
    ASSERT_GT(std::abs(optimum[6]), 0.02);
  }

  for (const Method& method : built_in_methods()) {
    const std::string& name = method.name();
    const auto record = run_prepared(config_for(method), prepared);
    ASSERT_TRUE(record) << name << ": " << record.error().text();
    // Rounding keeps some methods above the tolerance.
    ASSERT_TRUE(record->outcome.gap_bound) << name;
    EXPECT_LE(*record->outcome.gap_bound, 1e-15) << name << record->outcome.detail;
    EXPECT_LT((record->solution - optimum).norm(), 1e-9) << name;
    EXPECT_LT(*record->trace.back().relative_error, 1e-17) << name;
    const Vector answer =
        is_druid(method) ? record->solution : snapped(record->solution, GetParam().kinks);
    EXPECT_LT(optimality_violation(problem, answer), 1e-9) << name;
    for (Index k = 0; k < 6; ++k)
      for (const double kink : GetParam().kinks)
        EXPECT_EQ(answer[k] == kink, optimum[k] == kink) << name << " coefficient " << k;
  }
}

/// The optimum of all samples in one place, as one agent sees it.
Vector pooled_optimum(Config config) {
  config.agents = 1;
  config.graph = "complete";
  config.partition = "even";
  const auto problem = prepare(config);
  EXPECT_TRUE(problem) << problem.error().text();
  return problem->reference->x;
}

Config skewed_shards() {
  Config config;
  config.data = "synthetic:gaussian,samples=300,features=5";
  config.agents = 4;
  config.partition = "size-skew:0.5";
  config.graph = "ring";
  config.l1 = 0.02;
  config.l2 = 0.05;
  config.intercept = true;
  config.penalty = 0.2;
  config.rounds = 3000;
  config.tolerance = 1e-20;
  config.threads = 1;
  return config;
}

TEST(Weighting, BySampleGivesThePooledOptimumHoweverUnequalTheShards) {
  Config config = skewed_shards();
  config.weighting = Weighting::sample;
  const Vector pooled = pooled_optimum(config);
  for (const Method& method : built_in_methods()) {
    const std::string& name = method.name();
    config.method = method;
    const auto record = run(config);
    ASSERT_TRUE(record) << record.error().text();
    std::uint64_t smallest = 300, largest = 0;
    for (const AgentSummary& agent : record->agents) {
      smallest = std::min(smallest, agent.samples);
      largest = std::max(largest, agent.samples);
    }
    ASSERT_GT(largest, 2 * smallest) << "the shards should differ";
    EXPECT_LT((record->solution - pooled).norm(), 1e-8) << name;
  }
}

TEST(Weighting, ByAgentDiffersFromThePooledOptimumForUnequalShards) {
  const Config config = skewed_shards();
  const auto record = run(config);
  ASSERT_TRUE(record) << record.error().text();
  EXPECT_GT((record->solution - pooled_optimum(config)).norm(), 1e-3);
  EXPECT_LT((record->solution - record->reference->solution).norm(), 1e-8);
}

TEST(Weighting, MakesNoDifferenceForEqualShards) {
  Config config = skewed_shards();
  config.partition = "even";
  const auto by_agent = run(config);
  config.weighting = Weighting::sample;
  const auto by_sample = run(config);
  ASSERT_TRUE(by_agent && by_sample);
  EXPECT_LT((by_agent->solution - by_sample->solution).norm(), 1e-12);
}

}  // namespace
}  // namespace grove::testing_support
