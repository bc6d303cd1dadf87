// The units and origins of columns change nothing but the coefficients: an affine map of any column
// leaves the rounds and the objective of the answer as they are.
#include <cmath>

#include <gtest/gtest.h>

#include "grove/base/random.h"
#include "grove/train/problem.h"

namespace grove {
namespace {

constexpr Index rows = 240, columns = 5;

struct Table {
  DenseRows features{rows, columns};
  Vector targets{rows};
};

Table make_table(const Loss& loss, std::uint64_t seed) {
  Table table;
  KeyedRandom random({.seed = seed, .purpose = Purpose::synthetic});
  const auto number = [&] { return 2 * random.uniform() - 1; };
  for (Index j = 0; j < rows; ++j) {
    double margin = 0.3;
    for (Index k = 0; k < columns; ++k) {
      table.features(j, k) = number() + (k > 0 ? 0.5 * table.features(j, k - 1) : 0);
      margin += (k % 2 == 0 ? 1.0 : -0.7) * table.features(j, k);
    }
    margin += number();
    table.targets[j] = is_classification(loss) ? (margin > 0 ? 1 : 0) : 3 * margin;
  }
  return table;
}

Result<RunRecord> train(const Table& table, const Options& options) {
  const auto problem =
      Problem::from_samples(DenseView{table.features.data(), rows, columns},
                            {table.targets.data(), static_cast<std::size_t>(table.targets.size())});
  if (!problem) return problem.error();
  return run(*problem, options);
}

Options options_of(const Loss& loss) {
  Options options;
  options.loss = loss;
  options.agents = 6;
  options.intercept = true;
  options.graph = "ring";
  return options;
}

/// Units from 1e-8 to 1e8, and shifts of up to 1e4 deviations.
Table change_units(const Table& table, std::uint64_t seed, double largest_shift) {
  Table result = table;
  KeyedRandom random({.seed = seed, .purpose = Purpose::synthetic, .agent = 1});
  for (Index k = 0; k < columns; ++k) {
    const double unit = std::pow(10, 16 * random.uniform() - 8);
    const double shift = largest_shift * (2 * random.uniform() - 1);
    result.features.col(k) = unit * (table.features.col(k).array() + shift);
  }
  return result;
}

void expect_same(const Options& options, const Table& plain, const Table& changed) {
  const auto a = train(plain, options), b = train(changed, options);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->outcome.status, RunStatus::converged);
  EXPECT_EQ(b->outcome.status, RunStatus::converged);
  EXPECT_NEAR(static_cast<double>(b->outcome.rounds), static_cast<double>(a->outcome.rounds),
              0.2 * static_cast<double>(a->outcome.rounds));
  EXPECT_NEAR(b->objective, a->objective, 1e-9 * a->objective);
}

TEST(Invariance, UnitsAndShiftsOfColumnsDoNotMatter) {
  for (const Loss& loss : {Loss(LogisticLoss{}), Loss(SquaredLoss{}), Loss(HuberLoss{})})
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Options options = options_of(loss);
      options.tolerance = 1e-9;
      const Table table = make_table(loss, seed);
      SCOPED_TRACE(name_of(loss) + " " + std::to_string(seed));
      expect_same(options, table, change_units(table, seed, 1e4));
    }
}

// Without an intercept a shift is another problem; units are not.
TEST(Invariance, UnitsDoNotMatterWithoutAnIntercept) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Options options = options_of(LogisticLoss{});
    options.intercept = false;
    options.tolerance = 1e-11;
    const Table table = make_table(options.loss, seed);
    expect_same(options, table, change_units(table, seed, 0));
  }
}

// A penalty acts on the coefficients that the user sees: in other units it is another problem,
// whose answer is that of the same problem solved without scaling, by a fixed penalty.
TEST(Invariance, PenaltiesAndBoundsKeepTheirMeaning) {
  Options options = options_of(SquaredLoss{});
  options.l1 = 0.05;
  options.l2 = 0.01;
  options.constraint = {-0.4, 0.9};
  options.tolerance = 1e-10;
  const Table table = make_table(options.loss, 3);
  Table scaled = table;
  scaled.features.col(1) *= 10;
  scaled.features.col(2) *= 0.1;
  const auto record = train(scaled, options);
  ASSERT_TRUE(record);
  Options paper = options;
  paper.penalty = 0.3;
  paper.rounds = 20000;
  const auto unscaled = train(scaled, paper);
  ASSERT_TRUE(unscaled);
  EXPECT_EQ(unscaled->outcome.status, RunStatus::converged);
  EXPECT_NEAR(record->objective, unscaled->objective, 1e-8);
  EXPECT_LT((record->solution - unscaled->solution).norm(), 1e-3);
  EXPECT_LE(record->solution.head(columns).maxCoeff(), 0.9);
  EXPECT_GE(record->solution.head(columns).minCoeff(), -0.4);
}

// A row a million times as long as the others, at one agent.
TEST(Invariance, OutliersDoNotHideTheOtherRows) {
  for (const Loss& loss : {Loss(LogisticLoss{}), Loss(SquaredLoss{}), Loss(HuberLoss{})}) {
    Options options = options_of(loss);
    options.l2 = 1e-3;
    Table table = make_table(loss, 2);
    table.features.row(17) *= 1e6;
    const auto record = train(table, options);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->outcome.status, RunStatus::converged) << name_of(loss);
    ASSERT_TRUE(record->reference);
    EXPECT_LE(record->objective - record->reference->objective,
              1.01e-6 * record->reference->objective)
        << name_of(loss);
  }
}

/// One column is zero but in three samples of one class: its coefficient has no optimum, all others
/// have one. The objective comes near its infimum, which is the optimum of the other samples.
TEST(Invariance, AnInfimumThatNoModelTakesIsNotCalledAnOptimum) {
  Table table = make_table(LogisticLoss{}, 5);
  table.features.col(3).setZero();
  int marked = 0;
  for (Index j = 0; j < rows && marked < 3; ++j)
    if (table.targets[j] > 0) {
      table.features(j, 3) = 1;
      ++marked;
    }
  for (const bool no_reference : {false, true}) {
    Options options = options_of(LogisticLoss{});
    options.no_reference = no_reference;
    const auto record = train(table, options);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->outcome.status, RunStatus::converged);
    EXPECT_EQ(record->outcome.detail.find("converged"), std::string::npos);
    EXPECT_NE(record->outcome.detail.find("no minimizer"), std::string::npos)
        << record->outcome.detail;
    EXPECT_NE(record->outcome.detail.find("most along feature 4;"), std::string::npos)
        << record->outcome.detail;
    ASSERT_TRUE(record->outcome.gap_bound);
    EXPECT_LE(*record->outcome.gap_bound, 1e-6);
  }
}

TEST(Invariance, ClassesThatAreSeparatedHaveNoMinimizer) {
  Options options = options_of(LogisticLoss{});
  Table table = make_table(options.loss, 5);
  for (Index j = 0; j < rows; ++j) table.features(j, 3) = table.targets[j] - 0.5;
  const auto record = train(table, options);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->outcome.status, RunStatus::round_limit);
  EXPECT_NE(record->outcome.detail.find("no minimizer"), std::string::npos);
  EXPECT_NE(record->outcome.detail.find("feature 4"), std::string::npos) << record->outcome.detail;
  EXPECT_FALSE(record->outcome.gap_bound);
  EXPECT_TRUE(record->explanations.empty());
  options.l2 = 1e-3;
  const auto penalized = train(table, options);
  ASSERT_TRUE(penalized);
  EXPECT_EQ(penalized->outcome.status, RunStatus::converged);
}

}  // namespace
}  // namespace grove
