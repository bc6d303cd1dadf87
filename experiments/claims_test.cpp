#include "experiments/claims.h"

#include <gtest/gtest.h>

namespace grove::experiments {
namespace {

/// A run that reaches the goal in round `rounds`, after `seconds`, and ends there.
TrialResult reaching(double rounds, double seconds) {
  return {.round = {0, rounds},
          .error = {1, goal / 2},
          .broadcasts = {0, 10 * rounds},
          .seconds = {0, seconds}};
}

Figure1 figure_with(LocalModelKind model) {
  Figure1 figure{.setting = "picture", .title = "t", .model = model, .last_round = 100};
  for (const Contender& contender : contenders())
    figure.lines.push_back({contender.name, {}, {reaching(100, 10)}});
  return figure;
}

std::vector<TrialResult>& runs_of(Figure1& figure, const std::string& name) {
  for (Line& line : figure.lines)
    if (line.name == name) return line.over_time;
  ADD_FAILURE() << name;
  return figure.lines[0].over_time;
}

Findings findings_with(Figure1 figure) {
  Findings findings;
  findings.scale.seeds = 1;
  findings.figure1.push_back(std::move(figure));
  return findings;
}

// By hand: DRUID-Newton takes 100 rounds. Exact-ADMM takes 96, which saves 4 %. E = 10 takes 50
// with batches, which saves half, and 40 with whole shards.
TEST(Claims, ReasonsFollowTheMeasuredNumbers) {
  Figure1 figure = figure_with(LocalModelKind::augmented);
  runs_of(figure, "Exact-ADMM") = {reaching(96, 10)};
  runs_of(figure, "DRUID-VL, E = 10") = {reaching(50, 10)};
  runs_of(figure, "DRUID-VL, E = 10, whole shards") = {reaching(40, 10)};
  const std::string why = claims_of(findings_with(figure)).at(0).rows.at(0).why;
  EXPECT_NE(why.find("save 4 % of the rounds"), std::string::npos) << why;
  EXPECT_NE(why.find("saves 50 % with batches of 100 and 60 % with whole shards"),
            std::string::npos)
      << why;
  EXPECT_EQ(why.find("stability"), std::string::npos) << "the augmented model has no such bound";
  const std::string linearized =
      claims_of(findings_with(figure_with(LocalModelKind::linearized))).at(0).rows.at(0).why;
  EXPECT_NE(linearized.find("stability bound"), std::string::npos) << linearized;
  EXPECT_NE(linearized.find("saves 0 % with batches"), std::string::npos) << linearized;
}

// By hand: 50 rounds in 10 s are 0.2 s per round, twice the 0.1 s of DRUID-Newton.
TEST(Claims, TimesNameTheCostOfARound) {
  Figure1 figure = figure_with(LocalModelKind::augmented);
  runs_of(figure, "DRUID-VL, E = 10") = {reaching(50, 10)};
  const std::string why = claims_of(findings_with(figure)).at(1).rows.at(0).why;
  EXPECT_NE(why.find("takes 2x of DRUID-Newton"), std::string::npos) << why;
}

TEST(Claims, TuningNamesItsBestAndItsWorstShare) {
  CostFigure figure{.number = 3, .seeds = 4};
  figure.lines = {{.name = "equal",
                   .participation = {0.4, 1},
                   .rounds = {{100, 100, 100}, {100, 100, 100}},
                   .broadcasts = {{}, {}},
                   .reached = {4, 4}},
                  {.name = "tuned",
                   .participation = {0.4, 1},
                   .rounds = {{75, 75, 75}, {110, 110, 110}},
                   .broadcasts = {{}, {}},
                   .reached = {4, 2}}};
  Findings findings;
  findings.figure3 = {figure};
  const std::string why = claims_of(findings).at(0).rows.at(0).why;
  EXPECT_NE(why.find("between -10 % (participation 1) and 25 % (participation 0.4)"),
            std::string::npos)
      << why;
  EXPECT_NE(why.find("2 runs that reach the goal with equal eps miss it"), std::string::npos)
      << why;
}

}  // namespace
}  // namespace grove::experiments
