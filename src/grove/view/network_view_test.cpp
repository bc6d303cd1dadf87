#include "grove/view/network_view.h"

#include <gtest/gtest.h>

namespace grove {
namespace {

using nlohmann::json;

json status(const std::string& neighbour, int activations, double residual, bool connected = true) {
  return {{"phase", "working"},
          {"activations", activations},
          {"residual", residual},
          {"work", 5},
          {"neighbours", 1},
          {"bytes", 30},
          {"refused", 0},
          {"waiting_for", ""},
          {"checkpoint_trouble", ""},
          {"links",
           {{{"name", neighbour},
             {"connected", connected},
             {"bytes_sent", 10},
             {"bytes_received", 20}}}}};
}

json record_of(const LiveRuns& runs) {
  return json::parse(runs.all()).at("runs").at(0).at("record");
}

TEST(NetworkView, ShowsPeersTheirLinksAndTheLargestResidual) {
  LiveRuns runs;
  NetworkView view(runs, "net");
  view.show({{"a", status("b", 7, 0.5)}, {"b", status("a", 9, 0.25)}}, 100);
  const json record = record_of(runs);
  EXPECT_EQ(record.at("agents").size(), 2u);
  EXPECT_EQ(record.at("agent_trace").at("edges"), json::parse("[[0,1]]"));
  EXPECT_EQ(record.at("agent_trace").at("bytes"), json::parse("[30]"));
  EXPECT_EQ(record.at("agent_trace").at("lost"), json::parse("[0]"));
  EXPECT_EQ(record.at("agent_trace").at("frames").at(0).at("active"), "11");
  EXPECT_EQ(record.at("trace").at(0).at("round"), 9);
  EXPECT_EQ(record.at("trace").at(0).at("residual"), 0.5);
}

TEST(NetworkView, ASilentPeerIsInactiveKeepsItsNumbersAndIsNamed) {
  LiveRuns runs;
  NetworkView view(runs, "net");
  view.show({{"a", status("b", 7, 0.5)}, {"b", status("a", 9, 0.25)}}, 100);
  view.show({{"a", status("b", 8, 0.4, false)}, {"b", nullptr}}, 103);
  const json record = record_of(runs);
  EXPECT_EQ(record.at("agent_trace").at("frames").at(0).at("active"), "10");
  EXPECT_EQ(record.at("agent_trace").at("frames").at(0).at("distance").at(1), 0.25);
  EXPECT_EQ(record.at("agent_trace").at("lost"), json::parse("[1]"));
  EXPECT_EQ(record.at("explanations"), json::parse(R"(["b has been silent for 3 s."])"));
  EXPECT_EQ(record.at("outcome").at("detail"), "1 of 2 peers answer");
}

TEST(NetworkView, ANeighbourThatIsNotAskedIsShownWhileItIsConnected) {
  LiveRuns runs;
  NetworkView view(runs, "net");
  view.show({{"a", status("b", 7, 0.5)}}, 100);
  EXPECT_EQ(record_of(runs).at("agent_trace").at("frames").at(0).at("active"), "11");
  view.show({{"a", status("b", 8, 0.5, false)}}, 101);
  EXPECT_EQ(record_of(runs).at("agent_trace").at("frames").at(0).at("active"), "10");
}

TEST(NetworkView, AnAnswerThatIsNoStatusCountsAsSilence) {
  LiveRuns runs;
  NetworkView view(runs, "net");
  json broken = status("b", 7, 0.5);
  broken["links"] = "none";
  view.show({{"a", broken}, {"b", {{"phase", 3}}}, {"c", json::array()}}, 100);
  EXPECT_EQ(record_of(runs).at("agent_trace").at("frames").at(0).at("active"), "000");
}

TEST(NetworkView, TheEndIsSaidAndNothingIsLost) {
  LiveRuns runs;
  NetworkView view(runs, "net");
  view.show({{"a", status("b", 7, 0.5)}}, 100);
  view.end("all converged");
  const json all = json::parse(runs.all());
  EXPECT_EQ(all.at("live"), false);
  EXPECT_EQ(all.at("runs").at(0).at("record").at("outcome").at("detail"), "all converged");
  EXPECT_EQ(all.at("runs").at(0).at("record").at("trace").size(), 1u);
}

}  // namespace
}  // namespace grove
