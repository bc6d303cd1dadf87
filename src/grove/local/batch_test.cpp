#include "grove/local/batch.h"

#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

namespace grove {
namespace {

using Rows = std::vector<std::uint32_t>;

Rows draw(std::uint64_t round, Index size, Index population, Workspace& workspace) {
  draw_batch({.seed = 11, .purpose = Purpose::gradient_batch, .agent = 3, .round = round}, size,
             population, workspace);
  return workspace.rows;
}

Rows identity(std::size_t size) {
  Rows rows(size);
  std::iota(rows.begin(), rows.end(), 0u);
  return rows;
}

// 2 of 5 rows in order: 20 outcomes, each of probability 1/20. Chi-square with 19 degrees of
// freedom exceeds 43.8 once in a thousand seeds; this seed is fixed.
TEST(DrawBatch, EveryOrderedPairIsEquallyLikely) {
  Workspace workspace;
  std::map<Rows, int> counts;
  constexpr int draws = 20000;
  for (int k = 0; k < draws; ++k) ++counts[draw(k, 2, 5, workspace)];
  ASSERT_EQ(counts.size(), 20u);
  constexpr double expected = draws / 20.0;
  double chi_square = 0;
  for (const auto& [rows, count] : counts)
    chi_square += (count - expected) * (count - expected) / expected;
  EXPECT_LT(chi_square, 43.8);
}

// Every row of a large population is in a batch of 30 of 100 with probability 0.3; five standard
// deviations of the binomial law of 5000 draws are 162.
TEST(DrawBatch, EveryRowIsEquallyLikelyToBeIn) {
  Workspace workspace;
  std::vector<int> counts(100, 0);
  for (int k = 0; k < 5000; ++k)
    for (const std::uint32_t row : draw(k, 30, 100, workspace)) ++counts.at(row);
  for (const int count : counts) EXPECT_NEAR(count, 1500, 162);
}

TEST(DrawBatch, NoRowIsDrawnTwice) {
  Workspace workspace;
  for (Index size = 1; size <= 12; ++size) {
    const Rows rows = draw(5, size, 12, workspace);
    EXPECT_EQ(std::set(rows.begin(), rows.end()).size(), static_cast<std::size_t>(size));
    for (const std::uint32_t row : rows) EXPECT_LT(row, 12u);
  }
}

TEST(DrawBatch, TheWorkspaceIsTheIdentityAgainAfterEveryDraw) {
  Workspace workspace;
  for (std::uint64_t round = 0; round < 50; ++round) {
    draw(round, 1 + static_cast<Index>(round % 9), 9, workspace);
    ASSERT_EQ(workspace.order, identity(9)) << "round " << round;
  }
}

// Agents with shards of different sizes share a workspace.
TEST(DrawBatch, DoesNotDependOnWhatWasDrawnBefore) {
  Workspace fresh, used;
  draw(1, 40, 50, used);
  draw(2, 3, 4, used);
  draw(3, 60, 80, used);
  EXPECT_EQ(draw(7, 10, 30, used), draw(7, 10, 30, fresh));
}

}  // namespace
}  // namespace grove
