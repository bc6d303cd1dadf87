#include <thread>

#include <gtest/gtest.h>

#include "grove/view/live.h"
#include "grove/view/runs.h"

namespace grove {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

TracePoint row(Round round) { return TracePoint{.round = round}; }

json data_of(const std::optional<LiveRuns::Event>& event) {
  return event ? json::parse(event->data) : json(nullptr);
}

TEST(LiveRuns, AReaderGetsAllOnceAndThenOnlyWhatIsNew) {
  LiveRuns runs;
  runs.begin("a", {{"agents", json::array()}});
  runs.add_row(row(0));
  LiveRuns::Place place;
  const auto first = runs.next(place, 0ms);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->name, "runs");
  EXPECT_EQ(data_of(first).at("live"), true);
  EXPECT_EQ(data_of(first).at("runs").at(0).at("record").at("trace").size(), 1u);
  EXPECT_FALSE(runs.next(place, 0ms));
  runs.add_row(row(1));
  runs.add_row(row(2));
  const auto second = runs.next(place, 0ms);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->name, "update");
  const json rows = data_of(second).at("runs").at(0).at("record").at("trace");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows.at(0).at("round"), 1);
  EXPECT_EQ(rows.at(1).at("round"), 2);
}

TEST(LiveRuns, WithoutAReaderTheBufferStaysBoundedAndKeepsTheLastRow) {
  LiveRuns runs;
  runs.begin("a", json::object());
  constexpr Round rounds = 3 * LiveRuns::most_rows;
  for (Round round = 0; round <= rounds; ++round) runs.add_row(row(round));
  const json rows = json::parse(runs.all()).at("runs").at(0).at("record").at("trace");
  EXPECT_LE(rows.size(), LiveRuns::most_rows);
  EXPECT_EQ(rows.at(0).at("round"), 0);
  EXPECT_EQ(rows.back().at("round"), rounds);
}

// Rows that were dropped before they were read are lost; none is read twice.
TEST(LiveRuns, ASlowReaderSeesRoundsInOrderAndNoneTwice) {
  LiveRuns runs;
  runs.begin("a", json::object());
  LiveRuns::Place place;
  runs.next(place, 0ms);
  Round last = 0;
  bool any = false;
  for (Round round = 0; round < 50'000; ++round) {
    runs.add_row(row(round));
    if (round % 9'001 != 0 && round + 1 != 50'000) continue;
    const json event = data_of(runs.next(place, 0ms));
    for (const json& one : event.at("runs").at(0).at("record").at("trace")) {
      const Round seen = one.at("round");
      if (any) {
        EXPECT_GT(seen, last);
      }
      last = seen;
      any = true;
    }
  }
  EXPECT_EQ(last, 49'999u);
}

TEST(LiveRuns, ReadersWhileARunGoesOnMissNoRow) {
  LiveRuns runs;
  runs.begin("a", json::object());
  constexpr Round rounds = 5'000;
  std::vector<Round> seen;
  std::thread reader([&] {
    LiveRuns::Place place;
    while (seen.empty() || seen.back() <= rounds) {
      const auto event = runs.next(place, 1000ms);
      if (!event) continue;
      const json data = json::parse(event->data);
      for (const json& run : data.at("runs"))
        if (run.at("record").contains("trace"))
          for (const json& one : run.at("record").at("trace")) seen.push_back(one.at("round"));
    }
  });
  for (Round round = 0; round <= rounds; ++round) runs.add_row(row(round));
  const auto last_shown = [&] {
    return json::parse(runs.all()).at("runs").at(0).at("record").at("trace").back().at("round");
  };
  while (last_shown() != rounds + 1) runs.add_row(row(rounds + 1));  // hands over what is pending
  reader.join();
  std::erase_if(seen, [&](Round round) { return round > rounds; });
  ASSERT_EQ(seen.size(), rounds + 1);
  for (Round round = 0; round <= rounds; ++round) ASSERT_EQ(seen[round], round);
}

TEST(LiveRuns, TheEndReplacesWhatWasShown) {
  LiveRuns runs;
  LiveRuns::Place place;
  runs.next(place, 0ms);
  json left = no_runs();
  left["runs"].push_back({{"name", "final"}, {"record", json::object()}});
  runs.end(left);
  const json event = data_of(runs.next(place, 0ms));
  EXPECT_EQ(event.at("live"), false);
  EXPECT_EQ(event.at("runs").at(0).at("name"), "final");
}

TEST(LiveRuns, ModelsOfSingleAgentsAreNotShown) {
  LiveRuns runs;
  runs.begin("a", {{"estimates", {{1.0}}}});
  EXPECT_EQ(runs.all().find("estimates"), std::string::npos);
  runs.complete({{"estimates", {{1.0}}}});
  EXPECT_EQ(runs.all().find("estimates"), std::string::npos);
}

}  // namespace
}  // namespace grove
