#include "grove/data/dataset.h"

#include <map>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "grove/data/dataset_flaw.h"
#include "grove/data/libsvm.h"
#include "grove/data/row_block.h"
#include "grove/data/test_files.h"

namespace grove {
namespace {

using testing_files::TestFolder;

DenseRows as_dense(const Samples& samples) {
  if (const auto* sparse = std::get_if<SparseRows>(&samples.features)) return DenseRows(*sparse);
  return std::get<DenseRows>(samples.features);
}

/// Rows 0, 1, 2, ... with the row's number as value and as target.
Dataset numbered(Index count, bool sparse) {
  Dataset dataset{.source = "numbered", .samples = {}, .labels = std::nullopt};
  dataset.samples.targets = Vector::LinSpaced(count, 0, static_cast<double>(count - 1));
  DenseRows rows = DenseRows::Zero(count, 5);
  for (Index row = 0; row < count; ++row) rows(row, row % 5) = static_cast<double>(row);
  if (sparse)
    dataset.samples.features = SparseRows(rows.sparseView());
  else
    dataset.samples.features = rows;
  return dataset;
}

RowBlock block_with(std::size_t nonzeros, std::int32_t columns) {
  RowBlock block;
  for (std::int32_t k = 0; k < columns; ++k)
    block.add(k, static_cast<std::size_t>(k) < nonzeros ? 1 : 0);
  block.end_row(1);
  return block;
}

/// Each block as a part of its own, which only large files have several of.
Result<Samples> assembled(const std::vector<RowBlock>& blocks) {
  std::vector<GatheredRows> parts;
  for (const RowBlock& block : blocks) {
    std::vector<GatheredRows> part;
    append(block, part);
    parts.push_back(std::move(part.front()));
  }
  return assemble("test", std::move(parts));
}

TEST(Storage, IsDenseOnlyAboveAQuarterOfNonZeros) {
  for (const auto& [nonzeros, dense] :
       std::map<std::size_t, bool>{{0, false}, {25, false}, {26, true}, {100, true}}) {
    const auto samples = assembled({block_with(nonzeros, 100)});
    ASSERT_TRUE(samples);
    EXPECT_EQ(std::holds_alternative<DenseRows>(samples->features), dense) << nonzeros;
    EXPECT_EQ(as_dense(*samples).sum(), static_cast<double>(nonzeros));
    EXPECT_EQ(samples->dimension(), 100);
  }
}

TEST(Storage, JoinsBlocksInOrder) {
  const Dataset expected = numbered(7, true);
  for (const bool sparse : {false, true}) {
    std::vector<RowBlock> blocks(3);
    for (std::int32_t row = 0; row < 7; ++row) {
      RowBlock& block = blocks[static_cast<std::size_t>(row) / 3];
      block.add(row % 5, row);
      block.end_row(row);
    }
    if (sparse) blocks[1].dimension = 50;
    const auto samples = assembled(blocks);
    ASSERT_TRUE(samples);
    EXPECT_EQ(std::holds_alternative<SparseRows>(samples->features), sparse || 6 <= 0.25 * 35);
    EXPECT_EQ(as_dense(*samples).leftCols(5), as_dense(expected.samples));
    EXPECT_EQ(samples->targets, expected.samples.targets);
  }
}

TEST(Storage, IsMovedWithoutCopying) {
  Samples samples = numbered(20, true).samples;
  const double* const values = std::get<SparseRows>(samples.features).valuePtr();
  Result<Samples> moved(std::move(samples));
  samples = std::move(*moved);
  EXPECT_EQ(std::get<SparseRows>(samples.features).valuePtr(), values);
}

TEST(TakeRows, GivesTheListedRowsInThatOrder) {
  for (const bool sparse : {false, true}) {
    const Samples taken = take_rows(numbered(20, sparse).samples, {13, 2, 2, 0});
    EXPECT_EQ(std::holds_alternative<SparseRows>(taken.features), sparse);
    EXPECT_EQ(taken.targets, Vector({{13, 2, 2, 0}}));
    DenseRows expected = DenseRows::Zero(4, 5);
    expected(0, 3) = 13;
    expected(1, 2) = expected(2, 2) = 2;
    EXPECT_EQ(as_dense(taken), expected);
  }
}

TEST(Widen, AddsColumnsOfZerosAndChangesNothingElse) {
  for (const bool sparse : {false, true}) {
    const Dataset before = numbered(12, sparse);
    const Samples after = widen(before.samples, 9);
    EXPECT_EQ(after.dimension(), 9);
    EXPECT_EQ(as_dense(after).leftCols(5), as_dense(before.samples));
    EXPECT_EQ(as_dense(after).rightCols(4).cwiseAbs().sum(), 0);
  }
}

TEST(Subsample, DrawsDistinctRowsInFileOrderAndDependsOnTheSeedOnly) {
  const auto first = subsample(numbered(100, false), 30, 1);
  const auto again = subsample(numbered(100, false), 30, 1);
  const auto other = subsample(numbered(100, false), 30, 2);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->samples.count(), 30);
  for (Index k = 1; k < 30; ++k)
    EXPECT_LT(first->samples.targets[k - 1], first->samples.targets[k]);
  EXPECT_EQ(first->samples.targets, again->samples.targets);
  EXPECT_NE(first->samples.targets, other->samples.targets);
  EXPECT_EQ(subsample(numbered(100, false), 0, 1)->samples.count(), 100);
}

// Each row is in a 3-of-10 sample with probability 0.3: 4000 draws stay within five standard
// errors.
TEST(Subsample, GivesEveryRowTheSameChance) {
  Vector counts = Vector::Zero(10);
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    const auto drawn = subsample(numbered(10, false), 3, seed);
    for (const double row : drawn->samples.targets) counts[static_cast<Index>(row)] += 1;
  }
  for (const double count : counts) EXPECT_NEAR(count, 1200, 5 * std::sqrt(4000 * 0.3 * 0.7));
}

TEST(Subsample, RefusesMoreThanThereIsAndADrawWithOneClassOnly) {
  EXPECT_EQ(subsample(numbered(10, false), 11, 1).error().text(),
            "--samples: expected at most the 10 samples of numbered, found 11");
  Dataset classes = numbered(10, false);
  classes.samples.targets.setZero();
  classes.samples.targets[9] = 1;
  classes.labels = LabelNames{};
  EXPECT_EQ(subsample(classes, 1, 1).error().where, "--samples");
}

/// Random samples with values that text must keep to the last bit.
rc::Gen<Samples> arbitrary_samples() {
  return rc::gen::exec([] {
    const auto rows = *rc::gen::inRange(1, 12);
    const auto columns = *rc::gen::inRange(1, 15);
    const auto share = *rc::gen::element(0.0, 0.1, 0.6, 1.0);
    const auto number = rc::gen::suchThat(rc::gen::arbitrary<double>(),
                                          [](double value) { return std::isfinite(value); });
    RowBlock block;
    block.dimension = columns;
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < columns; ++column)
        if (*rc::gen::inRange(0, 1000) < share * 1000) block.add(column, *number);
      block.end_row(*number);
    }
    return *assembled({block});
  });
}

RC_GTEST_PROP(LibsvmText, WritingAndReadingBackIsTheIdentity, ()) {
  const Samples written = *arbitrary_samples();
  const TestFolder folder;
  const std::string file = folder.write("data", to_libsvm(written));
  const auto read = load_dataset(file, TargetKind::number, 1);
  RC_ASSERT(static_cast<bool>(read));
  RC_ASSERT(read->samples.dimension() == written.dimension());
  RC_ASSERT(read->samples.targets == written.targets);
  RC_ASSERT(as_dense(read->samples) == as_dense(written));
  RC_ASSERT(read->samples.features.index() == written.features.index());
  RC_ASSERT(dataset_flaw(*read).empty());
}

}  // namespace
}  // namespace grove
