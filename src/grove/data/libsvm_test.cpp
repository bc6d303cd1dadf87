#include "grove/data/libsvm.h"

#include <cmath>

#include <gtest/gtest.h>

#include "grove/data/dataset.h"
#include "grove/data/readers.h"
#include "grove/data/test_files.h"

namespace grove {
namespace {

using testing_files::public_file;

Result<Dataset> read(std::string_view text, TargetKind kind = TargetKind::number) {
  return read_libsvm_text(text, "data", kind);
}

std::string error_of(std::string_view text, TargetKind kind = TargetKind::number) {
  const Result<Dataset> dataset = read(text, kind);
  return dataset ? "no error" : dataset.error().text();
}

TEST(LibsvmReader, ReadsLabelsIndicesAndValues) {
  const auto dataset = read("+1 1:0.5 3:-2e1\n-1 2:.25\n");
  ASSERT_TRUE(dataset);
  DenseRows expected(2, 3);
  expected << 0.5, 0, -20, 0, 0.25, 0;
  EXPECT_EQ(std::get<DenseRows>(dataset->samples.features), expected);
  EXPECT_EQ(dataset->samples.targets, Vector({{1, -1}}));
}

TEST(LibsvmReader, AllowsBlankLinesCommentsTabsCarriageReturnsAndAMissingLastLineEnd) {
  const auto dataset =
      read("# first\r\n\r\n1\t1:1  2:2 \t # a note 7:7\r\n   \n 2 2:3# next\n3\n4 1:9");
  ASSERT_TRUE(dataset);
  DenseRows expected(4, 2);
  expected << 1, 2, 0, 3, 0, 0, 9, 0;
  EXPECT_EQ(std::get<DenseRows>(dataset->samples.features), expected);
  EXPECT_EQ(dataset->samples.targets, Vector({{1, 2, 3, 4}}));
}

TEST(LibsvmReader, CountsAnExplicitZeroAsAFeatureButDoesNotStoreIt) {
  const auto dataset = read("1 1:1 9:0\n2 1:0\n");
  ASSERT_TRUE(dataset);
  EXPECT_EQ(dataset->samples.dimension(), 9);
  EXPECT_EQ(std::get<SparseRows>(dataset->samples.features).nonZeros(), 1);
}

TEST(LibsvmReader, NamesFileLineAndWhatWasExpected) {
  const std::string good = "1 1:1\n\n";
  EXPECT_EQ(error_of(good + "x 1:1"),
            "data:3: expected a label that is a finite number, found `x`");
  EXPECT_EQ(error_of(good + "1,2 1:1"),
            "data:3: expected a label that is a finite number, found `1,2`");
  EXPECT_EQ(error_of(good + "1 2"), "data:3: expected index:value, found `2`");
  EXPECT_EQ(error_of(good + "1 a:2"),
            "data:3: expected a whole number before the colon, found `a:2`");
  EXPECT_EQ(error_of(good + "1 1.5:2"),
            "data:3: expected a whole number before the colon, found `1.5:2`");
  EXPECT_EQ(error_of(good + "1 :2"),
            "data:3: expected a whole number before the colon, found `:2`");
  EXPECT_EQ(error_of(good + "1 0:2"), "data:3: expected an index from 1 to 100000000, found `0:2`");
  EXPECT_EQ(error_of(good + "1 -4:2"),
            "data:3: expected an index from 1 to 100000000, found `-4:2`");
  EXPECT_EQ(error_of(good + "1 2147483647:1"),
            "data:3: expected an index from 1 to 100000000, found `2147483647:1`");
  EXPECT_EQ(error_of(good + "1 99999999999999999999:1"),
            "data:3: expected an index from 1 to 100000000, found `99999999999999999999:1`");
  EXPECT_EQ(error_of(good + "1 3:1 2:1"),
            "data:3: expected indices that increase along the line, found 2 after 3");
  EXPECT_EQ(error_of(good + "1 3:1 3:1"),
            "data:3: expected indices that increase along the line, found 3 after 3");
  EXPECT_EQ(error_of(good + "1 3:"), "data:3: expected a finite number after `3:`, found nothing");
  EXPECT_EQ(error_of(good + "1 3: 4"),
            "data:3: expected a finite number after `3:`, found nothing");
  EXPECT_EQ(error_of(good + "1 3:0x1"), "data:3: expected a finite number after `3:`, found `0x1`");
  EXPECT_EQ(error_of(good + "1 3:+-1"), "data:3: expected a finite number after `3:`, found `+-1`");
  EXPECT_EQ(error_of(good + "1 qid:3 1:1"),
            "data:3: ranking data (`qid:`) is not supported, expected index:value");
}

TEST(LibsvmReader, TakesRowsWithoutLabelsWhereTheyMayBeMissing) {
  const std::string text = "1:0.5 3:-2\n\n2 2:1 # labelled\n2:4\n";
  const auto read = read_libsvm_text(text, "f", TargetKind::number, {.model_features = 3});
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(read->samples.count(), 3);
  EXPECT_TRUE(std::isnan(read->samples.targets[0]));
  EXPECT_EQ(read->samples.targets[1], 2);
  EXPECT_TRUE(std::isnan(read->samples.targets[2]));
  const auto refused = read_libsvm_text(text, "f", TargetKind::number);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().text().starts_with("f:1: expected a label"));
  const auto broken =
      read_libsvm_text("1:0.5\nx\n", "f", TargetKind::number, {.model_features = 3});
  ASSERT_FALSE(broken);
  EXPECT_TRUE(broken.error().text().starts_with("f:2: expected a label"));
}

TEST(LibsvmReader, RefusesNumbersThatAreNotFinite) {
  for (const std::string word : {"nan", "NaN", "inf", "-inf", "infinity", "1e999", "-1e999"}) {
    EXPECT_EQ(error_of("1 1:" + word),
              "data:1: expected a finite number after `1:`, found `" + word + "`");
    EXPECT_EQ(error_of(word + " 1:1"),
              "data:1: expected a label that is a finite number, found `" + word + "`");
  }
}

TEST(LibsvmReader, ShowsOnlyPrintableBytesAndNotTooManyOfABadToken) {
  EXPECT_EQ(error_of(std::string("1 \x01\xff\0z", 6)),
            "data:1: expected index:value, found `???z`");
  EXPECT_EQ(error_of("1 " + std::string(5000, 'x')),
            "data:1: expected index:value, found `" + std::string(40, 'x') + "...`");
}

TEST(LibsvmReader, RefusesTextWithoutSamplesOrWithoutFeatures) {
  EXPECT_EQ(error_of("# only a comment\n"),
            "data: has no samples, expected at least one line of data");
  EXPECT_EQ(error_of("1\n-1\n"),
            "data: has labels but no features, expected index:value pairs after the labels");
}

TEST(LibsvmReader, AcceptsTheLargestIndexWithoutStoringWhatIsNotThere) {
  const auto dataset = read("1 100000000:1\n");
  ASSERT_TRUE(dataset);
  EXPECT_EQ(dataset->samples.dimension(), 100000000);
}

// One line's index is far above all others: a digit too many, or --features says otherwise.
TEST(LibsvmReader, QuestionsAnIndexThatIsOneLinesAlone) {
  const std::string text = "0 1:1 22:1\n# comment\n1 2:1 100000000:1\n0 21:3\n";
  const auto refused = read_libsvm_text(text, "d.svm", TargetKind::number);
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error().text(),
      "d.svm:3: index 100000000 is far above those of all other lines, which end at 22; if it "
      "is right, expected --features 100000000");
  const auto meant = read_libsvm_text(text, "d.svm", TargetKind::number, {.features = 100'000'000});
  ASSERT_TRUE(meant) << meant.error().text();
  EXPECT_EQ(meant->samples.dimension(), 100'000'000);
  const auto small = read_libsvm_text(text, "d.svm", TargetKind::number, {.features = 30});
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().text(),
            "d.svm:3: expected indices up to 30, the --features given, found 100000000");
  EXPECT_TRUE(read_libsvm_text("0 1:1 100000000:1\n1 99999999:1\n", "d", TargetKind::number));
}

// --features adds columns that no line has.
TEST(LibsvmReader, HasAsManyFeaturesAsGiven) {
  const auto wide = read_libsvm_text("0 1:1\n1 3:1\n", "d", TargetKind::number, {.features = 7});
  ASSERT_TRUE(wide);
  EXPECT_EQ(wide->samples.dimension(), 7);
}

TEST(Labels, AnyTwoValuesBecomeZeroAndOneBySize) {
  const auto dataset = read("2 1:1\n-3.5 1:2\n2 1:3\n", TargetKind::two_classes);
  ASSERT_TRUE(dataset);
  EXPECT_EQ(dataset->samples.targets, Vector({{1, 0, 1}}));
  EXPECT_EQ(dataset->labels->negative, -3.5);
  EXPECT_EQ(dataset->labels->positive, 2);
}

TEST(Labels, OneOrManyForTwoClassesAreRefusedAndListed) {
  EXPECT_EQ(error_of("4 1:1\n4 1:2\n", TargetKind::two_classes),
            "data: expected two distinct labels, found one: 4");
  EXPECT_EQ(error_of("1 1:1\n3 1:1\n2 1:1\n", TargetKind::two_classes),
            "data: expected two distinct labels, found 3: 1, 2, 3; to predict numbers use --loss "
            "squared or huber");
  EXPECT_EQ(
      error_of("1 1:1\n2 1:1\n3 1:1\n4 1:1\n5 1:1\n6 1:1\n7 1:1\n8 1:1\n", TargetKind::two_classes),
      "data: expected two distinct labels, found more than 6: 1, 2, 3, 4, 5, 6, ...; to predict "
      "numbers use --loss squared or huber");
}

TEST(Labels, OfAModelAreAppliedToOtherDataAndStrangersAreRefused) {
  auto dataset = read("2 1:1\n2 1:2\n");
  ASSERT_TRUE(dataset);
  ASSERT_TRUE(apply_labels(LabelNames{-1, 2}, *dataset));
  EXPECT_EQ(dataset->samples.targets, Vector({{1, 1}}));
  auto stranger = read("2 1:1\n3 1:2\n");
  EXPECT_EQ(apply_labels(LabelNames{-1, 2}, *stranger).error().text(),
            "data: expected the labels -1 and 2, found 3");
}

// The counts are those the publisher's page and our table of public sets give.
TEST(PublicData, HasTheShapeAndTheLabelsItIsKnownFor) {
  struct Known {
    std::string file;
    Index samples, features;
    double positives;
    bool sparse;
  };
  bool found_any = false;
  for (const Known& known :
       {Known{"ijcnn1.bz2", 49990, 22, 4853, false}, Known{"a9a.bz2", 32561, 123, 7841, true},
        Known{"w8a.bz2", 49749, 300, 1479, true}, Known{"mushrooms.bz2", 8124, 112, 4208, true}}) {
    const std::string file = public_file(known.file);
    if (file.empty()) continue;
    found_any = true;
    const auto dataset = load_dataset(file, TargetKind::two_classes, 1);
    ASSERT_TRUE(dataset) << dataset.error().text();
    EXPECT_EQ(dataset->samples.count(), known.samples);
    EXPECT_EQ(dataset->samples.dimension(), known.features);
    EXPECT_EQ(dataset->samples.targets.sum(), known.positives);
    EXPECT_EQ(std::holds_alternative<SparseRows>(dataset->samples.features), known.sparse);
  }
  if (!found_any) GTEST_SKIP() << "no public data here: set GROVE_DATA_DIR";
}

}  // namespace
}  // namespace grove
