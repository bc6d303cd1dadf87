#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "grove/base/file.h"
#include "grove/record/comparison.h"
#include "grove/record/plot.h"
#include "grove/record/summary.h"

namespace grove {
namespace {

std::filesystem::path fresh_folder(const std::string& name) {
  const auto folder = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

Figure two_lines() {
  return {.title = "it's <a> title & 100 %",
          .x_label = "round",
          .y_label = "error",
          .curves = {{.name = "first_method", .x = {0, 1, 2}, .y = {1, 0.1, 0}},
                     {.name = "second",
                      .x = {0, 1, 2},
                      .y = {1, 0.5, 0.25},
                      .low = {1, 0.4, 0.2},
                      .high = {1, 0.6, 0.3}}}};
}

TEST(Plot, WritesWholeFilesOfTheKindTheNameAsksFor) {
  const auto folder = fresh_folder("grove-plot-test");
  const Status svg = draw(two_lines(), folder / "a.svg");
  ASSERT_TRUE(svg) << svg.error().text();
  const std::string text = *read_file(folder / "a.svg");
  EXPECT_NE(text.find("</svg>"), std::string::npos);
  EXPECT_NE(text.find("first_method"), std::string::npos);
  ASSERT_TRUE(draw(two_lines(), folder / "a.png"));
  EXPECT_EQ(read_file(folder / "a.png")->substr(1, 3), "PNG");
  ASSERT_TRUE(draw(two_lines(), folder / "a.pdf"));
  EXPECT_EQ(read_file(folder / "a.pdf")->substr(0, 5), "%PDF-");
  ASSERT_TRUE(draw(two_lines(), folder / "a.csv"));
  EXPECT_NE(read_file(folder / "a.csv")->find("\nsecond,1,0.5,0.4,0.6,\n"), std::string::npos);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 4);
}

TEST(Plot, RefusesWhatItCannotDraw) {
  const auto folder = fresh_folder("grove-plot-refusals");
  EXPECT_FALSE(draw(two_lines(), folder / "a.jpg"));
  EXPECT_FALSE(can_draw("a.jpg"));
  EXPECT_FALSE(draw(two_lines(), folder / "no-such-folder" / "a.svg"));
  Figure empty = two_lines();
  for (Curve& curve : empty.curves) curve.y = {0, -1, std::nan("")};
  EXPECT_FALSE(draw(empty, folder / "a.svg"));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(Summary, NumbersCarryUnitsThatSuitThem) {
  EXPECT_EQ(human_bytes(999), "999 B");
  EXPECT_EQ(human_bytes(1536), "1.54 kB");
  EXPECT_EQ(human_seconds(0.25), "250 ms");
  EXPECT_EQ(human_seconds(185), "3 min 05 s");
  EXPECT_EQ(human_seconds(179.9), "3 min 00 s");
}

TEST(Summary, SaysHowTheRunEndedAndWhatItCost) {
  RunRecord record{.outcome = {RunStatus::converged, "converged in 1 rounds", 1, 0.5},
                   .objective = 0.5};
  record.trace = {{.round = 0, .stationarity = 1},
                  {.round = 1,
                   .objective_gap = 1e-9,
                   .relative_error = 1e-5,
                   .cost = {.broadcasts = 10, .bytes_sent = 2000}}};
  const std::string text = summary_text(record);
  for (const char* part :
       {"converged in 1 rounds, in 500 ms", "1.00e-09", "1.000e-05", "10 broadcasts", "2 kB"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in\n" << text;
  EXPECT_EQ(text.find("local steps"), std::string::npos) << "nobody chose work loads here";
}

TEST(Summary, ShowsNamesOfAnyLanguageAndNoControlCharacters) {
  RunRecord record{.outcome = {RunStatus::converged, "converged in 1 rounds", 1, 0.5}};
  record.trace = {{.round = 0}};
  record.problem.columns = ColumnNames{.features = {"a"}, .label = "Größe"};
  record.problem.labels = LabelNames{.texts = {"чай", "caf\033[31mé"}};
  const std::string text = summary_text(record);
  EXPECT_NE(text.find("target column `Größe`"), std::string::npos) << text;
  EXPECT_NE(text.find("label чай is class 0 and caf?[31mé is class 1"), std::string::npos) << text;
}

TEST(Summary, SaysWhatHeldTheRunBack) {
  RunRecord record{.outcome = {RunStatus::round_limit, "stopped at the limit of 1 rounds", 1, 0.5}};
  record.trace = {{.round = 0}};
  EXPECT_EQ(summary_text(record).find("why"), std::string::npos);
  record.explanations = {"the graph is narrow"};
  const std::string text = summary_text(record);
  EXPECT_NE(text.find("  why         the graph is narrow\n"), std::string::npos) << text;
}

TEST(Summary, SaysWhyTheBusiestAgentWorksSoMuch) {
  RunRecord record{.outcome = {RunStatus::converged, "converged in 1 rounds", 1, 0.5}};
  record.trace = {{.round = 0}};
  record.agents = {{.work = 1, .speed = 0.1, .work_reason = "others would wait"},
                   {.work = 7, .speed = 1, .work_reason = "agent 0 takes as long"}};
  const std::string text = summary_text(record);
  EXPECT_NE(text.find("1 to 7 local steps per activation; 7: agent 0 takes as long\n"),
            std::string::npos)
      << text;
  record.agents.pop_back();
  EXPECT_NE(summary_text(record).find("1 local step per activation at every agent: others would"),
            std::string::npos);
  record.agents[0].speed.reset();
  EXPECT_EQ(summary_text(record).find("others would wait"), std::string::npos);
}

TEST(Comparison, SaysWhatHeldEachRunBack) {
  RunRecord record;
  record.trace = {{.round = 0}};
  EXPECT_EQ(comparison_table({{"nids", {record}}}).find("why"), std::string::npos);
  RunRecord slow = record;
  slow.explanations = {"the graph is narrow"};
  const std::string text = comparison_table({{"nids", {record}}, {"p2d2", {slow}}});
  EXPECT_NE(text.find("why\np2d2           the graph is narrow\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace grove
