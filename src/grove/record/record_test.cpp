#include "grove/record/record.h"

#include <cmath>

#include <gtest/gtest.h>

namespace grove {
namespace {

/// Values that only survive if every digit does.
RunRecord record_of_everything() {
  RunRecord record;
  record.version = "9.8.7";
  record.config = {{"agents", 2}, {"penalty", 0.1}, {"step", nullptr}, {"work", "1,2"}};
  record.problem = {.samples = 5,
                    .features = 2,
                    .agents = 2,
                    .edges = 1,
                    .lambda_max = 2.0 / 3,
                    .lambda_2 = 1e-300,
                    .labels = LabelNames{-1, 1}};
  record.agents = {{.samples = 3, .degree = 1, .work = 4, .participation = 0.1, .prox = 1.0 / 7},
                   {.samples = 2, .degree = 1, .work = 9, .participation = 1, .prox = {}}};
  record.outcome = {RunStatus::converged, "converged in 1 rounds", 1, 0.1 + 0.2};
  record.notes = {"first", "second \"quoted\""};
  record.explanations = {"it was slow"};
  record.reference = {.objective = std::nextafter(1.0, 2.0),
                      .solution = Vector::LinSpaced(2, 0, 1)};
  record.solution = (Vector(2) << 1.0 / 3, -0.0).finished();
  record.objective = 5e-324;
  record.nonzeros = 1;
  record.estimates = {Vector::Constant(2, 0.1), Vector::Constant(2, 1e22)};
  record.trace = {
      {.round = 0, .objective = 0.1, .objective_gap = 0.2, .relative_error = 1, .active = 0},
      {.round = 1,
       .objective = 1.0 / 3,
       .objective_gap = -1e-17,
       .relative_error = 2.0 / 3,
       .consensus_error = 1.1,
       .stationarity = 2.2,
       .active = 2,
       .cost = {.broadcasts = 1,
                .vectors_sent = 2,
                .bytes_sent = (1ull << 53) + 1,  // not a double
                .gradient_samples = 4,
                .hessian_samples = 5,
                .solves = 6,
                .damped_steps = 7},
       .seconds = 0.7}};
  return record;
}

RunRecord read_back(const RunRecord& record) {
  const auto result = record_from_json(nlohmann::json::parse(to_json(record).dump()));
  EXPECT_TRUE(result) << result.error().text();
  return *result;
}

TEST(RunRecord, ReadsBackExactly) {
  const RunRecord record = record_of_everything(), back = read_back(record);
  EXPECT_EQ(to_json(back), to_json(record));
  EXPECT_EQ(back.version, "9.8.7");
  EXPECT_EQ(back.config, record.config);
  EXPECT_EQ(back.problem.lambda_max, 2.0 / 3);
  EXPECT_EQ(back.problem.lambda_2, 1e-300);
  EXPECT_EQ(back.problem.labels->negative, -1);
  EXPECT_EQ(back.agents[0].prox, 1.0 / 7);
  EXPECT_EQ(back.agents[1].prox, std::nullopt);
  EXPECT_EQ(back.agents[1].work, 9);
  EXPECT_EQ(back.outcome.status, RunStatus::converged);
  EXPECT_EQ(back.outcome.detail, record.outcome.detail);
  EXPECT_EQ(back.outcome.seconds, 0.1 + 0.2);
  EXPECT_EQ(back.notes, record.notes);
  EXPECT_EQ(back.explanations, record.explanations);
  EXPECT_EQ(back.reference->objective, std::nextafter(1.0, 2.0));
  EXPECT_EQ(back.reference->solution, record.reference->solution);
  EXPECT_EQ(back.solution, record.solution);
  EXPECT_TRUE(std::signbit(back.solution[1]));
  EXPECT_EQ(back.objective, 5e-324);
  EXPECT_EQ(back.estimates, record.estimates);
  ASSERT_EQ(back.trace.size(), 2u);
  EXPECT_EQ(back.trace[1].cost, record.trace[1].cost);
  EXPECT_EQ(back.trace[1].relative_error, 2.0 / 3);
  EXPECT_EQ(back.trace[1].objective_gap, -1e-17);
}

TEST(RunRecord, HasTheFieldsOfTheInterface) {
  const auto json = to_json(record_of_everything());
  EXPECT_EQ(json["format"], "grove-run/1");
  for (const char* field : {"version", "config", "problem", "outcome", "reference", "solution",
                            "objective", "nonzeros", "estimates", "trace"})
    EXPECT_TRUE(json.contains(field)) << field;
  for (const char* field :
       {"samples", "features", "agents", "edges", "lambda_max", "lambda_2", "labels"})
    EXPECT_TRUE(json["problem"].contains(field)) << field;
  for (const char* field :
       {"round", "objective", "objective_gap", "relative_error", "consensus_error", "stationarity",
        "active", "broadcasts", "vectors_sent", "bytes_sent", "gradient_samples", "hessian_samples",
        "solves", "damped_steps", "seconds"})
    EXPECT_TRUE(json["trace"][0].contains(field)) << field;
}

TEST(RunRecord, WhatWasNotComputedStaysAbsent) {
  RunRecord record = record_of_everything();
  record.reference.reset();
  record.problem.labels.reset();
  record.estimates.clear();
  for (TracePoint& point : record.trace) {
    point.objective_gap.reset();
    point.relative_error.reset();
  }
  const RunRecord back = read_back(record);
  EXPECT_FALSE(back.reference);
  EXPECT_FALSE(back.problem.labels);
  EXPECT_TRUE(back.estimates.empty());
  EXPECT_FALSE(back.trace[1].relative_error);
  EXPECT_FALSE(to_json(record).contains("estimates"));
}

// JSON has neither infinity nor NaN: what a diverged run leaves behind is null and reads as NaN.
TEST(RunRecord, SurvivesTheNumbersOfADivergedRun) {
  RunRecord record = record_of_everything();
  const double infinity = std::numeric_limits<double>::infinity();
  record.outcome.status = RunStatus::diverged;
  record.objective = infinity;
  record.solution[0] = std::nan("");
  record.trace[1].objective = infinity;
  record.trace[1].relative_error = std::nan("");
  record.trace[1].stationarity = infinity;
  const RunRecord back = read_back(record);
  EXPECT_EQ(back.outcome.status, RunStatus::diverged);
  EXPECT_TRUE(std::isnan(back.objective));
  EXPECT_TRUE(std::isnan(back.solution[0]));
  ASSERT_TRUE(back.trace[1].relative_error);
  EXPECT_TRUE(std::isnan(*back.trace[1].relative_error));
  EXPECT_EQ(to_json(back), to_json(record));
}

TEST(RunRecord, EveryStatusReadsBack) {
  for (const RunStatus status : {RunStatus::converged, RunStatus::round_limit, RunStatus::diverged,
                                 RunStatus::peer_lost, RunStatus::interrupted}) {
    RunRecord record = record_of_everything();
    record.outcome.status = status;
    EXPECT_EQ(read_back(record).outcome.status, status);
    EXPECT_EQ(to_json(record)["outcome"]["status"], name_of(status));
  }
}

TEST(RunRecord, WhatIsNotARecordIsRefused) {
  EXPECT_FALSE(record_from_json(nlohmann::json::array()));
  EXPECT_FALSE(record_from_json({{"format", "grove-model/1"}}));
  EXPECT_FALSE(record_from_json({{"format", 3}}));
  auto json = to_json(record_of_everything());
  json.erase("trace");
  const auto result = record_from_json(json);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().text().find("trace"), std::string::npos);
  json = to_json(record_of_everything());
  json["outcome"]["status"] = "exploded";
  EXPECT_FALSE(record_from_json(json));
  json = to_json(record_of_everything());
  json["trace"][1]["round"] = "one";
  EXPECT_FALSE(record_from_json(json));
}

TEST(RoundsTo, IsTheFirstMeasuredRoundAtOrBelowTheLevel) {
  RunRecord record;
  for (const auto& [round, error] : std::vector<std::pair<Round, double>>{
           {0, 1.0}, {10, 0.5}, {20, 0.01}, {30, 0.02}, {40, 0.001}})
    record.trace.push_back({.round = round, .relative_error = error});
  EXPECT_EQ(rounds_to(record, 1), 0u);
  EXPECT_EQ(rounds_to(record, 0.4), 20u);
  EXPECT_EQ(rounds_to(record, 0.01), 20u);
  EXPECT_EQ(rounds_to(record, 0.005), 40u);
  EXPECT_EQ(rounds_to(record, 1e-9), std::nullopt);
  record.trace[2].relative_error.reset();
  EXPECT_EQ(rounds_to(record, 0.4), 30u);
}

}  // namespace
}  // namespace grove
