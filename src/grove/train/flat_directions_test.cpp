#include <gtest/gtest.h>

#include "grove/record/summary.h"
#include "grove/train/problem.h"

namespace grove {
namespace {

/// Samples with dummy variables for the levels of two factors, and every dummy is there: the
/// columns of a factor sum to one, so that f is constant along (1, 1, 1, -1, -1, ...).
DenseRows dummies(Index rows) {
  DenseRows features = DenseRows::Zero(rows, 9);
  for (Index i = 0; i < rows; ++i) {
    features(i, (i * i + i / 7) % 4) = 1;
    features(i, 4 + (i * 3 + i / 5) % 5) = 1;
  }
  return features;
}

Vector labels(Index rows) {
  Vector targets(rows);
  for (Index i = 0; i < rows; ++i) targets[i] = (i * i * 5 + i / 3) % 7 < 3 + i % 2;
  return targets;
}

Result<RunRecord> train(const DenseRows& features, Options options) {
  const Vector targets = labels(features.rows());
  const auto problem =
      Problem::from_samples(DenseView{features.data(), features.rows(), features.cols()},
                            {targets.data(), static_cast<std::size_t>(targets.size())});
  options.agents = 6;
  options.graph = "ring";
  return run(*problem, options);
}

// The gap is to the centralized optimum, which the stopping rule does not look at.
TEST(FlatDirections, EndARunByTheObjectiveOfEveryAgent) {
  for (const Method& method : {Method::druid_vl, Method::nids}) {
    Options options;
    options.method = method;
    options.rounds = 5000;
    options.tolerance = 1e-6;
    const auto record = train(dummies(300), options);
    ASSERT_TRUE(record) << record.error().text();
    ASSERT_FALSE(record->reference->unique);
    EXPECT_EQ(record->outcome.status, RunStatus::converged) << method.name();
    const double optimum = record->reference->objective;
    EXPECT_LE(*record->trace.back().objective_gap, 1e-6 * optimum) << method.name();
    EXPECT_LE(*record->trace.back().worst_gap, 2e-6 * optimum) << method.name();
    EXPECT_NE(summary_text(*record).find("not unique"), std::string::npos);
    const auto back = record_from_json(to_json(*record));
    ASSERT_TRUE(back);
    EXPECT_FALSE(back->reference->unique);
  }
}

TEST(FlatDirections, AreNotFoundWhereAPenaltyOrAMissingLevelTakesThemAway) {
  Options options;
  options.l2 = 1e-4;
  const auto curved = train(dummies(300), options);
  ASSERT_TRUE(curved);
  EXPECT_TRUE(curved->reference->unique);
  options.l2 = 0;
  const DenseRows fewer = dummies(300).leftCols(8);
  const auto full_rank = train(fewer, options);
  ASSERT_TRUE(full_rank);
  EXPECT_TRUE(full_rank->reference->unique);
  EXPECT_EQ(summary_text(*full_rank).find("not unique"), std::string::npos);
}

}  // namespace
}  // namespace grove
