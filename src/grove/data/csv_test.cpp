#include "grove/data/csv.h"

#include <gtest/gtest.h>

#include "grove/data/dataset.h"
#include "grove/data/labels.h"
#include "grove/data/readers.h"
#include "grove/data/test_files.h"

namespace grove {
namespace {

using testing_files::TestFolder;

struct Read {
  DenseRows rows;
  Vector targets;
  std::string error;
};

Read read_with(const ReadOptions& options, std::string_view text) {
  const TestFolder folder;
  const std::string file = folder.write("data.csv", text);
  const auto dataset = load_dataset(file, TargetKind::number, 1, options);
  if (!dataset) return {.error = dataset.error().text().substr(folder.path().string().size() + 1)};
  const Samples& samples = dataset->samples;
  if (const auto* sparse = std::get_if<SparseRows>(&samples.features))
    return {.rows = DenseRows(*sparse), .targets = samples.targets};
  return {.rows = std::get<DenseRows>(samples.features), .targets = samples.targets};
}

Read read(std::string_view text, const std::string& label_column = {}) {
  return read_with({.label_column = label_column}, text);
}

DenseRows matrix(Index rows, Index columns, std::initializer_list<double> values) {
  return Eigen::Map<const DenseRows>(values.begin(), rows, columns);
}

TEST(CsvReader, TakesTheLabelFromItsUsualNamesOrTheLastColumn) {
  const DenseRows features = matrix(2, 2, {1, 2, 3, 4});
  for (const std::string text : {"a,label,b\n1,9,2\n3,8,4\n", "a,b,target\n1,2,9\n3,4,8\n",
                                 "y,a,b\n9,1,2\n8,3,4\n", "a,b,c\n1,2,9\n3,4,8"}) {
    const Read got = read(text);
    EXPECT_EQ(got.error, "") << text;
    EXPECT_EQ(got.rows, features) << text;
    EXPECT_EQ(got.targets, Vector({{9, 8}})) << text;
  }
  const Read named = read("a,label,b\n1,9,2\n3,8,4\n", "b");
  EXPECT_EQ(named.targets, Vector({{2, 4}}));
}

TEST(CsvReader, KnowsDataWithoutLabelsByTheFeaturesOfTheModelItIsFor) {
  const Read unlabelled = read_with({.model_features = 2}, "a,b\n1,2\n3,4\n");
  EXPECT_EQ(unlabelled.rows, matrix(2, 2, {1, 2, 3, 4}));
  EXPECT_TRUE(unlabelled.targets.array().isNaN().all());
  EXPECT_EQ(read_with({.model_features = 1}, "a,b\n1,2\n3,4\n").targets, Vector({{2, 4}}));
  EXPECT_EQ(read_with({.model_features = 1}, "a,Y\n1,2\n3,4\n").targets, Vector({{2, 4}}));
  const ReadOptions named{.label_column = "a", .model_features = 1};
  EXPECT_EQ(read_with(named, "a,b\n1,2\n3,4\n").targets, Vector({{1, 3}}));
  EXPECT_EQ(read_with({.model_features = 2}, "a,y\n1,2\n").error,
            "data.csv:1: expected the 2 columns of the model's features, found 1");
}

TEST(CsvReader, FindsTheColumnsOfTheModelItIsForByName) {
  const ReadOptions wanted{.model_columns = ColumnNames{{"a", "size"}, "price"},
                           .model_features = 2};
  const Read permuted = read_with(wanted, "size,price,note,a\n2,9,text,1\n4,8,,3\n");
  EXPECT_EQ(permuted.error, "");
  EXPECT_EQ(permuted.rows, matrix(2, 2, {1, 2, 3, 4}));
  EXPECT_EQ(permuted.targets, Vector({{9, 8}}));
  const Read unlabelled = read_with(wanted, "size,a\n2,1\n4,3\n");
  EXPECT_EQ(unlabelled.rows, matrix(2, 2, {1, 2, 3, 4}));
  EXPECT_TRUE(unlabelled.targets.array().isNaN().all());
  const Read missing = read_with(wanted, "sizes,a,price\n2,1,9\n");
  EXPECT_EQ(missing.error,
            "data.csv:1: expected the model's column `size`, the nearest name is `sizes`");
}

/// Small blocks, so that words meet in several of them.
Result<Dataset> read_classes(std::string_view text, const ReadOptions& options = {}) {
  return read_csv_text(text, "data.csv", TargetKind::two_classes, options, {.block_bytes = 16});
}

TEST(CsvReader, TakesTwoWordsAsLabels) {
  const auto read = read_classes("a,label\n1,yes\n2, no\n3,\"yes\"\n\n4,no\n");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->samples.targets, Vector({{1, 0, 1, 0}}));
  ASSERT_TRUE(read->labels);
  EXPECT_EQ(label_text(*read->labels, false), "no");
  EXPECT_EQ(label_text(*read->labels, true), "yes");
  const auto quoted = read_classes("y,a\n\"a \"\"b\"\"\",1\n2,1\n");
  ASSERT_TRUE(quoted) << quoted.error().text();
  EXPECT_EQ(quoted->labels->texts, (std::array<std::string, 2>{"2", "a \"b\""}));
  EXPECT_EQ(quoted->samples.targets, Vector({{1, 0}}));
}

TEST(CsvReader, RefusesOneWordThreeWordsAndWordsAmongNumbers) {
  const auto error = [](std::string_view text) { return read_classes(text).error().text(); };
  EXPECT_EQ(error("a,y\n1,no\n2,no\n"), "data.csv: expected two distinct labels, found 1: `no`");
  EXPECT_EQ(error("a,y\n1,no\n2,maybe\n3,yes\n"),
            "data.csv: expected two distinct labels, found 3: `maybe`, `no`, `yes`");
  EXPECT_EQ(error("a,y\n1,a\n2,b\n3,c\n1,d\n2,e\n3,f\n4,g\n5,h\n6,i\n"),
            "data.csv: expected two distinct labels, found more than 6: `a`, `b`, `c`, `d`, `e`, "
            "`f`, ...");
  EXPECT_EQ(error("a,y\n1,no\n2,\n"),
            "data.csv:3: column `y`: expected a finite number, found nothing");
  EXPECT_EQ(error("a,y\n1,0\n2,yes\n"),
            "data.csv:3: column `y`: expected a finite number, found `yes`");
}

TEST(CsvReader, KnowsTheWordsOfTheModelItIsFor) {
  const ReadOptions wanted{.model_labels = LabelNames{.texts = {"no", "yes"}}, .model_features = 1};
  const Read got = read_with(wanted, "a,y\n1,yes\n2,other\n3,no\n");
  EXPECT_EQ(got.error, "");
  EXPECT_EQ(got.targets, Vector({{1, 2, 0}}));
}

TEST(CsvReader, UnderstandsQuotesBlanksCarriageReturnsAndBlankLines) {
  const Read got =
      read("\"a \"\"quoted\"\" name, with comma\",y\r\n\"1.5\", 2 \r\n\r\n +3,\"-4\"\r\n");
  EXPECT_EQ(got.error, "");
  EXPECT_EQ(got.rows, matrix(2, 1, {1.5, 3}));
  EXPECT_EQ(got.targets, Vector({{2, -4}}));
}

TEST(CsvReader, KeepsColumnsThatAreZeroEverywhere) {
  EXPECT_EQ(read("y,a,b,c\n1,0,0,0\n2,5,0,0\n").rows, matrix(2, 3, {0, 0, 0, 5, 0, 0}));
}

TEST(CsvReader, NamesLineAndColumnOfWhatIsWrong) {
  EXPECT_EQ(read("y,age\n1,2\n1,\n").error,
            "data.csv:3: column `age`: expected a finite number, found nothing");
  EXPECT_EQ(read("y,age\n\n,2\n").error,
            "data.csv:3: column `y`: expected a finite number, found nothing");
  EXPECT_EQ(read("y,\"the age, \"\"here\"\"\"\n1,old\n").error,
            "data.csv:2: column `the age, \"here\"`: expected a finite number, found `old`");
  EXPECT_EQ(read("y,a\n1,inf\n").error,
            "data.csv:2: column `a`: expected a finite number, found `inf`");
  EXPECT_EQ(read("y,a\n1,nan\n").error,
            "data.csv:2: column `a`: expected a finite number, found `nan`");
  EXPECT_EQ(read("y,a\n1,2 3\n").error,
            "data.csv:2: column `a`: expected a finite number, found `2 3`");
  EXPECT_EQ(read("y,a\n1\n").error, "data.csv:2: expected 2 cells as in the header, found 1");
  EXPECT_EQ(read("y,a\n1,2,3\n").error, "data.csv:2: expected 2 cells as in the header, found 3");
  EXPECT_EQ(read("y,a\n1,2,\n").error, "data.csv:2: expected 2 cells as in the header, found 3");
  for (const std::string row : {"\"1,2", "\"1\"x,2", "1,\"2\"\"", "\"1\n\",2"})
    EXPECT_EQ(read("y,a\n" + row + "\n").error,
              "data.csv:2: expected a quoted cell to be closed on its line and followed by a comma")
        << row;
}

TEST(CsvReader, RefusesHeadersItCannotUse) {
  EXPECT_EQ(read("a;y\n1;2\n").error,
            "data.csv:1: expected a header line with at least two column names and commas between "
            "them, found `a;y`");
  EXPECT_EQ(read("\n1,2\n3,4\n").error,
            "data.csv:2: expected a header line with column names, found only numbers");
  EXPECT_EQ(read("a,label,b\n1,2,3\n", "lable").error,
            "data.csv:1: expected a label column `lable`, the nearest name is `label`");
  EXPECT_EQ(read("y,y\n1,2\n").error,
            "data.csv:1: expected column names once each, found `y` twice");
  EXPECT_EQ(read("a,a,y\n1,2,3\n").error,
            "data.csv:1: expected column names once each, found `a` twice");
  EXPECT_EQ(read("y,a\n").error, "data.csv: has no samples, expected at least one line of data");
}

}  // namespace
}  // namespace grove
