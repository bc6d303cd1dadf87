#include "grove/schedule/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace grove {
namespace {

AgentId agent(std::size_t number) { return AgentId{static_cast<std::uint32_t>(number)}; }

std::string work_refusal(std::string_view description, std::size_t agents = 3) {
  const auto loads = make_work_loads(description, agents, 1);
  return loads ? "" : loads.error().text();
}

std::string participation_refusal(std::string_view description, std::size_t agents = 3) {
  const auto probabilities = make_participation(description, agents);
  return probabilities ? "" : probabilities.error().text();
}

/// Five standard deviations of a binomial count: missed by chance once in two million.
double five_deviations(double draws, double p) { return 5 * std::sqrt(draws * p * (1 - p)); }

TEST(WorkLoads, FixedAndListedAreReadAsWritten) {
  EXPECT_EQ(*make_work_loads("10", 3, 1), (std::vector<int>{10, 10, 10}));
  EXPECT_EQ(*make_work_loads("equal:7", 3, 1), (std::vector<int>{7, 7, 7}));
  EXPECT_EQ(*make_work_loads("1,20, 3", 3, 1), (std::vector<int>{1, 20, 3}));
}

TEST(WorkLoads, BadOnesAreRefusedByTheNameOfTheFlag) {
  for (const char* bad : {"0", "-3", "2.5", "", "ten", "1,0,3", "1,2,", "equal:0",
                          "equal:", "uniform:0:5", "uniform:1:x", "extreme:1:2.5", "99999999999"})
    EXPECT_TRUE(
        work_refusal(bad).starts_with("--work: a work load is a whole number of local "
                                      "steps, at least 1, got `"))
        << bad << " -> " << work_refusal(bad);
  EXPECT_EQ(work_refusal("1,2"), "--work: expected one value or 3 (one per agent), got 2");
  EXPECT_EQ(work_refusal("uniform:5"),
            "--work: expected uniform:a:b with two work loads, got `uniform:5`");
  EXPECT_EQ(work_refusal("uniform:9:2"),
            "--work: expected uniform:a:b with a at most b, got `uniform:9:2`");
  EXPECT_EQ(
      work_refusal("normal:9:2"),
      "--work: expected auto, E, a list, equal:E, uniform:a:b or extreme:a:b, got `normal:9:2`");
}

// Each of the 19 values has probability 1/19.
TEST(WorkLoads, UniformTakesEveryValueOfTheRangeEquallyOften) {
  constexpr int agents = 190000;
  const auto loads = *make_work_loads("uniform:1:19", agents, 4);
  ASSERT_EQ(std::ranges::min(loads), 1);
  ASSERT_EQ(std::ranges::max(loads), 19);
  for (int value = 1; value <= 19; ++value)
    EXPECT_NEAR(static_cast<double>(std::ranges::count(loads, value)), agents / 19.0,
                five_deviations(agents, 1 / 19.0));
  EXPECT_EQ(loads, *make_work_loads("uniform:1:19", agents, 4));
  EXPECT_NE(loads, *make_work_loads("uniform:1:19", agents, 5));
}

// The loads of the first agents do not change when agents join.
TEST(WorkLoads, UniformDependsOnSeedAndAgentOnly) {
  const auto few = *make_work_loads("uniform:1:19", 10, 4);
  const auto many = *make_work_loads("uniform:1:19", 20, 4);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
}

RC_GTEST_PROP(WorkLoads, ExtremeGivesTheLowLoadToExactlyHalfRoundedDown, ()) {
  const auto agents = *rc::gen::inRange<std::size_t>(1, 60);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto loads = *make_work_loads("extreme:1:19", agents, seed);
  const auto low = static_cast<std::size_t>(std::ranges::count(loads, 1));
  RC_ASSERT(low == agents / 2);
  RC_ASSERT(static_cast<std::size_t>(std::ranges::count(loads, 19)) == agents - low);
}

// Over seeds, each of ten agents is in the low half as often as not.
TEST(WorkLoads, ExtremeChoosesTheHalfAtRandom) {
  constexpr int seeds = 10000;
  std::array<int, 10> low{};
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const auto loads = *make_work_loads("extreme:1:19", low.size(), seed);
    for (std::size_t k = 0; k < low.size(); ++k) low[k] += loads[k] == 1;
  }
  for (const int count : low) EXPECT_NEAR(count, seeds / 2.0, five_deviations(seeds, 0.5));
}

TEST(Participation, OneForAllOrOneEach) {
  EXPECT_EQ(*make_participation("0.4", 3), (std::vector<double>{0.4, 0.4, 0.4}));
  EXPECT_EQ(*make_participation("1,0.5,1e-3", 3), (std::vector<double>{1, 0.5, 1e-3}));
}

TEST(Participation, BadOnesAreRefusedByTheNameOfTheFlag) {
  for (const char* bad : {"0", "-0.5", "1.0000001", "nan", "inf", "", "half", "0.5,0,1", "1,1,"})
    EXPECT_TRUE(participation_refusal(bad).starts_with(
        "--participation: expected a probability above 0 and at most 1, got `"))
        << bad << " -> " << participation_refusal(bad);
  EXPECT_EQ(participation_refusal("0.5,0.5"),
            "--participation: expected one value or 3 (one per agent), got 2");
}

TEST(Schedule, EveryoneAlwaysWorksAtParticipationOne) {
  const Schedule schedule(3, {1.0, 1.0}, {4, 9});
  for (Round round = 1; round <= 1000; ++round) {
    for (std::size_t k = 0; k < 2; ++k) {
      const auto activation = schedule.activation(agent(k), round);
      ASSERT_TRUE(activation);
      EXPECT_EQ(activation->round, round);
      EXPECT_EQ(activation->local_steps, k == 0 ? 4 : 9);
    }
  }
}

TEST(Schedule, AgentsWorkAsOftenAsTheirProbabilitySays) {
  constexpr int rounds = 20000;
  const std::vector<double> probabilities{0.05, 0.4, 0.8, 1.0};
  const Schedule schedule(17, probabilities, {1, 1, 1, 1});
  for (std::size_t k = 0; k < probabilities.size(); ++k) {
    int active = 0;
    for (Round round = 1; round <= rounds; ++round)
      active += schedule.activation(agent(k), round).has_value();
    EXPECT_NEAR(active, rounds * probabilities[k], five_deviations(rounds, probabilities[k]));
  }
}

// Independence: both of two agents, and one agent in two rounds running, with probability p^2.
TEST(Schedule, AgentsAndRoundsAreIndependent) {
  constexpr int rounds = 40000;
  constexpr double p = 0.4;
  const Schedule schedule(23, {p, p}, {1, 1});
  int together = 0, in_a_row = 0;
  for (Round round = 1; round <= rounds; ++round) {
    const bool first = schedule.activation(agent(0), round).has_value();
    together += first && schedule.activation(agent(1), round);
    in_a_row += first && schedule.activation(agent(0), round + 1);
  }
  EXPECT_NEAR(together, rounds * p * p, five_deviations(rounds, p * p));
  // Neighbouring pairs overlap: the variance is at most three times that of separate pairs.
  EXPECT_NEAR(in_a_row, rounds * p * p, std::sqrt(3) * five_deviations(rounds, p * p));
}

TEST(Schedule, IsAFunctionOfTheSeedNotOfTheOrderOfAsking) {
  const Schedule schedule(5, {0.5, 0.5}, {1, 1}), same(5, {0.5, 0.5}, {1, 1});
  const Schedule other(6, {0.5, 0.5}, {1, 1});
  int different = 0;
  for (Round round = 200; round >= 1; --round) {
    const bool active = schedule.activation(agent(1), round).has_value();
    EXPECT_EQ(active, same.activation(agent(1), 1 + (round - 1)).has_value());
    different += active != other.activation(agent(1), round).has_value();
  }
  EXPECT_GT(different, 50);
}

TEST(LinkFaults, NoneMeansEverythingArrivesAtOnce) {
  const LinkFaults faults;
  EXPECT_TRUE(faults.none());
  for (Round round = 1; round <= 1000; ++round)
    EXPECT_EQ(faults.draw_delay(1, agent(0), agent(1), round), 0u);
}

TEST(LinkFaults, LosesAndDelaysAsOftenAsAsked) {
  constexpr int messages = 60000;
  const LinkFaults faults{.loss_rate = 0.3, .delay = 5};
  EXPECT_FALSE(faults.none());
  int lost = 0;
  std::array<int, 6> late{};
  for (Round round = 1; round <= messages; ++round) {
    const auto draw_delay = faults.draw_delay(9, agent(2), agent(5), round);
    if (!draw_delay) ++lost;
    if (!draw_delay) continue;
    ASSERT_LE(*draw_delay, 5u);
    ++late[*draw_delay];
  }
  EXPECT_NEAR(lost, messages * 0.3, five_deviations(messages, 0.3));
  for (const int count : late)
    EXPECT_NEAR(count, messages * 0.7 / 6, five_deviations(messages, 0.7 / 6));
}

// A message and its answer, or two messages of one sender, share no draw_delay.
TEST(LinkFaults, AreIndependentForEachDirectedLink) {
  constexpr int messages = 60000;
  const LinkFaults faults{.loss_rate = 0.3};
  int both_ways = 0, both_receivers = 0;
  for (Round round = 1; round <= messages; ++round) {
    const bool lost = !faults.draw_delay(9, agent(0), agent(1), round);
    both_ways += lost && !faults.draw_delay(9, agent(1), agent(0), round);
    both_receivers += lost && !faults.draw_delay(9, agent(0), agent(2), round);
  }
  EXPECT_NEAR(both_ways, messages * 0.09, five_deviations(messages, 0.09));
  EXPECT_NEAR(both_receivers, messages * 0.09, five_deviations(messages, 0.09));
}

}  // namespace
}  // namespace grove
