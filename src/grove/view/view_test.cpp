#include <gtest/gtest.h>

#include "grove/record/record.h"
#include "grove/view/page.h"
#include "grove/view/runs.h"

namespace grove {
namespace {

nlohmann::json ring_record() {
  RunRecord record;
  record.config = {{"graph", "ring"}, {"seed", 1}};
  record.problem.agents = 5;
  record.problem.edges = 5;
  record.agents.resize(5);
  return to_json(record);
}

TEST(ViewPage, IsAtMost150KilobytesWithItsScripts) {
  const std::size_t bytes = view_page(nullptr).size();
  EXPECT_LE(bytes, 150'000u);
  EXPECT_GE(bytes, 60'000u);  // the scripts are in it
}

TEST(ViewPage, NeedsNothingFromTheNetwork) {
  const std::string page = view_page(nullptr);
  EXPECT_EQ(page.find("src=\"http"), std::string::npos);
  EXPECT_EQ(page.find("<link rel=\"stylesheet"), std::string::npos);
  EXPECT_EQ(page.find("import "), std::string::npos);
}

TEST(ViewPage, ATextCannotEndTheElementItIsIn) {
  nlohmann::json runs = no_runs();
  runs["runs"].push_back({{"name", "</script><script>alert(1)</script>"}});
  const std::string page = view_page(&runs);
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_NE(page.find("\\u003c/script>\\u003cscript>alert"), std::string::npos);
}

TEST(ViewPage, ItsPolicyNamesTheHashOfScriptAndStyleOnly) {
  const std::string policy = view_policy();
  EXPECT_NE(policy.find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_NE(view_page(nullptr).find(policy), std::string::npos);
}

// A ring of five agents has the links 0-1, 0-4, 1-2, 2-3, 3-4.
TEST(ViewRuns, ARecordWithoutAgentTraceGetsTheLinksOfItsGraph) {
  nlohmann::json runs = no_runs();
  ASSERT_TRUE(add_runs("a", ring_record(), runs));
  const auto& edges = runs.at("runs").at(0).at("record").at("agent_trace").at("edges");
  EXPECT_EQ(edges, nlohmann::json::parse("[[0,1],[0,4],[1,2],[2,3],[3,4]]"));
}

TEST(ViewRuns, NamesAreUniqueAndEstimatesAreLeftOut) {
  nlohmann::json record = ring_record(), runs = no_runs();
  record["estimates"] = {{1.0, 2.0}};
  ASSERT_TRUE(add_runs("a", record, runs));
  ASSERT_TRUE(add_runs("a", record, runs));
  EXPECT_EQ(runs.at("runs").at(0).at("name"), "a");
  EXPECT_EQ(runs.at("runs").at(1).at("name"), "a (2)");
  EXPECT_FALSE(runs.at("runs").at(0).at("record").contains("estimates"));
}

TEST(ViewRuns, SomethingElseIsRefused) {
  nlohmann::json runs = no_runs();
  EXPECT_FALSE(add_runs("a", {{"format", "grove-model/1"}}, runs));
  EXPECT_FALSE(add_runs("a", {{"format", "grove-compare/1"}}, runs));
}

}  // namespace
}  // namespace grove
