#include "grove/record/agent_trace.h"

#include <cmath>

#include <gtest/gtest.h>

namespace grove {
namespace {

std::vector<AgentFrame> frames_of(std::size_t rounds, std::size_t agents) {
  FrameKeeper keeper;
  std::vector<AgentFrame> frames;
  for (Round round = 0; round < rounds; ++round)
    keeper.add({.round = round, .distance = std::vector<double>(agents, 1.0)}, frames);
  return frames;
}

TEST(FrameKeeper, KeepsEveryFrameOfAShortRun) {
  const auto frames = frames_of(500, 100);
  ASSERT_EQ(frames.size(), 500u);
  for (Round round = 0; round < 500; ++round) EXPECT_EQ(frames[round].round, round);
}

TEST(FrameKeeper, HoldsABoundedNumberOfDistancesEvenlySpacedWithFirstAndLastRound) {
  for (const std::size_t rounds : {4097u, 10'000u, 10'001u, 12'345u}) {
    const auto frames = frames_of(rounds, 1000);
    EXPECT_LE(frames.size() * 1000, FrameKeeper::most_numbers + 2000);
    EXPECT_GE(frames.size() * 1000, FrameKeeper::most_numbers / 4);
    EXPECT_EQ(frames.front().round, 0u);
    EXPECT_EQ(frames.back().round, rounds - 1);
    const Round stride = frames[1].round;
    for (std::size_t k = 1; k + 1 < frames.size(); ++k) EXPECT_EQ(frames[k].round, k * stride);
    EXPECT_LE(frames.back().round - frames[frames.size() - 2].round, stride);
  }
}

TEST(FrameKeeper, KeepsSomeFramesOfAHugeNetwork) {
  const auto frames = frames_of(10, 1'000'000);
  EXPECT_GE(frames.size(), 2u);
  EXPECT_EQ(frames.back().round, 9u);
}

TEST(FourDigits, IsTheDecimalNearestToTheValue) {
  EXPECT_EQ(four_digits(0.0), 0.0);
  EXPECT_EQ(four_digits(M_PI), 3.142);
  EXPECT_EQ(four_digits(-123456.0), -123500.0);
  EXPECT_EQ(four_digits(1.23456e-9), 1.235e-9);
  EXPECT_EQ(four_digits(9.99996), 10.0);
  EXPECT_TRUE(std::isnan(four_digits(std::nan(""))));
}

TEST(AgentTrace, ReadsBackExactly) {
  AgentTrace trace{.edges = {{AgentId{0}, AgentId{2}}, {AgentId{1}, AgentId{2}}},
                   .from_optimum = true,
                   .frames = {{.round = 0, .distance = {1, 2, 3}, .active = {false, true, true}},
                              {.round = 7, .distance = {0.1, 1.234e-12, 0}}},
                   .traffic = {{1024, 0}, {99, 3}}};
  const auto text = to_json(trace).dump();
  EXPECT_EQ(agent_trace_from(nlohmann::json::parse(text)), trace);
}

TEST(AgentTrace, ADistanceThatIsNotANumberIsNull) {
  const AgentTrace trace{.frames = {{.round = 0, .distance = {std::nan("")}}}};
  const auto json = to_json(trace);
  EXPECT_TRUE(json.at("frames").at(0).at("distance").at(0).is_null());
  EXPECT_TRUE(std::isnan(agent_trace_from(json).frames[0].distance[0]));
}

}  // namespace
}  // namespace grove
