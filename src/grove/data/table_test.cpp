#include "grove/data/table.h"

#include <cmath>

#include <gtest/gtest.h>

#include "grove/data/test_files.h"

namespace grove {
namespace {

Table parsed(std::string_view text, const TableOptions& options = {}) {
  auto table = parse_table(text, "t.csv", options);
  EXPECT_TRUE(table) << table.error().text();
  return table ? *table : Table{};
}

std::string error_of(std::string_view text, const TableOptions& options = {}) {
  const auto table = parse_table(text, "t.csv", options);
  return table ? "" : table.error().text();
}

TEST(Table, FindsTheSeparatorByItself) {
  for (const char* text : {"a,b\n1,2\n", "a;b\n1;2\n", "a\tb\n1\t2\n", "\"a\";\"b,c\"\n1;2\n"}) {
    const Table table = parsed(text);
    ASSERT_EQ(table.columns.size(), 2U) << text;
    EXPECT_EQ(table.columns[1].numbers, std::vector<double>{2}) << text;
  }
}

TEST(Table, ReadsDecimalCommasBetweenSemicolons) {
  EXPECT_EQ(parsed("a;b\n1,5;2\n").columns[0].numbers, std::vector<double>{1.5});
}

TEST(Table, ReadsQuotedLineBreaksAndCountsLines) {
  const Table table = parsed("a,b\n\"two\nlines, \"\"quoted\"\"\",1\nx,2\n");
  EXPECT_EQ(table.columns[0].text(0), "two\nlines, \"quoted\"");
  EXPECT_EQ(table.where(1), "t.csv:4");
}

TEST(Table, KnowsMissingCells) {
  const Table table = parsed("a,b\n1,x\n,\nNA,NA\nNaN,.\n.,y\n2,\"\"\n");
  for (const std::size_t row : {1U, 2U, 3U}) {
    EXPECT_TRUE(table.columns[0].missing(row)) << row;
    EXPECT_TRUE(table.columns[1].missing(row)) << row;
  }
  EXPECT_TRUE(table.columns[0].missing(4));
  EXPECT_TRUE(table.columns[1].missing(5));
  EXPECT_FALSE(table.columns[0].is_text);
  EXPECT_TRUE(table.columns[1].is_text);
}

TEST(Table, MakesTextsOfNumbersAboveAText) {
  const Table table = parsed("a,b\n1,0\n2.50,0\nx,0\n");
  EXPECT_EQ(table.columns[0].texts, (std::vector<std::string>{"1", "2.5", "x"}));
  EXPECT_EQ(table.columns[0].number_cells, 2U);
  EXPECT_EQ(table.columns[0].first_text_row, 2U);
}

TEST(TableInMemory, HasRowsInPlaceOfLinesAndChecksItsColumns) {
  const double missing = std::numeric_limits<double>::quiet_NaN();
  const TableColumn numbers{.name = "a", .numbers = {1.5, missing, 3}};
  const TableColumn texts{
      .name = "b", .is_text = true, .codes = {-1, 1, 0}, .texts = {"x", "y"}, .number_cells = 7};
  const TableColumn empty{.name = "c", .is_text = true, .codes = {-1, -1, -1}};
  const auto table = make_table("site", {numbers, texts, empty});
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ(table->where(2), "site, row 2");
  EXPECT_TRUE(table->columns[0].missing(1));
  EXPECT_EQ(table->columns[1].text(1), "y");
  EXPECT_EQ(table->columns[1].first_text_row, 1U);
  EXPECT_EQ(table->columns[1].number_cells, 0U);
  EXPECT_FALSE(table->columns[2].is_text);
  EXPECT_TRUE(table->columns[2].missing(0));

  const auto error_of = [](std::vector<TableColumn> columns) {
    const auto made = make_table("site", std::move(columns));
    return made ? "" : made.error().text();
  };
  EXPECT_EQ(error_of({}), "site: has no rows; expected a table with columns and rows");
  EXPECT_EQ(error_of({numbers, {.name = "b", .numbers = {1, 2}}}),
            "site: column `b` has 2 rows; expected 3, as the first has");
  EXPECT_EQ(error_of({numbers, numbers}), "site: expected column names once each, found `a` twice");
  EXPECT_EQ(error_of({{.name = "a", .numbers = {0, std::numeric_limits<double>::infinity()}}}),
            "site, row 1: column `a`: expected a finite number, found inf");
  EXPECT_EQ(error_of({{.name = "a", .is_text = true, .codes = {2}, .texts = {"x", "y"}}}),
            "site, row 0: column `a`: code 2 has no text");
}

TEST(Table, TrimsNamesAndIgnoresUnnamedColumnsWithANote) {
  const Table table = parsed(", a ,b\n1,2,3\n");
  EXPECT_EQ(table.names(), (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(table.notes.size(), 1U);
  EXPECT_NE(table.notes[0].find("column 1 has no name"), std::string::npos);
}

TEST(Table, RefusesAFileWithoutHeaderAndShowsItsFirstLine) {
  const std::string error = error_of("0,380,3.61,General\n1,660,3.67,General\n");
  EXPECT_NE(error.find("t.csv:1"), std::string::npos) << error;
  EXPECT_NE(error.find("0,380,3.61,General"), std::string::npos) << error;
  EXPECT_NE(error.find("--no-header"), std::string::npos) << error;
  const Table table = parsed("0,380\n1,660\n", {.has_header = false});
  EXPECT_EQ(table.names(), (std::vector<std::string>{"V1", "V2"}));
  EXPECT_EQ(table.rows(), 2U);
}

TEST(Table, NamesTheLineOfARowThatIsTooShort) {
  EXPECT_NE(error_of("a,b\n1,2\n3\n").find("t.csv:3: expected 2 cells"), std::string::npos);
  EXPECT_NE(error_of("a,a\n1,2\n").find("`a` twice"), std::string::npos);
  EXPECT_NE(error_of("a,b\n\"1,2\n").find("t.csv:2"), std::string::npos);
  EXPECT_NE(error_of("a,b\n").find("no rows"), std::string::npos);
  EXPECT_NE(error_of("").find("is empty"), std::string::npos);
}

TEST(Table, HasOneEncodingAndOneDecimalSign) {
  EXPECT_EQ(parsed("town\nK\xC3\xB6ln\n").columns[0].texts[0], "K\xC3\xB6ln");
  EXPECT_EQ(error_of("town\nBonn\nK\xF6ln\n"),
            "t.csv:3: expected UTF-8, found the byte 0xf6; the table may be Latin-1");
  EXPECT_NE(error_of("\xFF\xFEt\0o\0").find("is UTF-16"), std::string::npos);
  EXPECT_EQ(parsed("a;b\n1,5;2,5\n3;4\n").columns[0].numbers[0], 1.5);
  EXPECT_EQ(parsed("a;b\n1.5;2.5\n").columns[1].numbers[0], 2.5);
  EXPECT_EQ(error_of("a;b\n1.380;7\n2;3,61\n"),
            "t.csv:2: expected one decimal sign, found `1.380` here and `3,61` in line 3");
}

TEST(Table, ReadsCompressedFiles) {
  const testing_files::TestFolder folder;
  const std::string name = folder.write(
      "t.csv.gz", testing_files::compressed("a,b\r\n1,2\r\n\r\n3,4\r\n", ARCHIVE_FILTER_GZIP));
  const auto table = read_table(name);
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ(table->columns[1].numbers, (std::vector<double>{2, 4}));
}

}  // namespace
}  // namespace grove
