#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "grove/base/file.h"
#include "grove/report/plot.h"
#include "grove/report/summary.h"

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
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 2);
}

TEST(Plot, RefusesWhatItCannotDraw) {
  const auto folder = fresh_folder("grove-plot-refusals");
  EXPECT_FALSE(draw(two_lines(), folder / "a.pdf"));
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
       {"converged in 1 rounds, 500 ms", "1.00e-09", "1.000e-05", "10 broadcasts", "2 kB"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in\n" << text;
  EXPECT_EQ(text.find("local steps;"), std::string::npos) << "nobody chose work loads here";
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
  record.agents = {{.work = 1, .work_reason = "others would wait"},
                   {.work = 7, .work_reason = "agent 0 takes as long"}};
  const std::string text = summary_text(record);
  EXPECT_NE(text.find("1 to 7 local steps; 7: agent 0 takes as long\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace grove
