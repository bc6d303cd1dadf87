// The table of known answers: a deterministic instance on ijcnn1, whose figures were obtained with
// an independent implementation. Needs ijcnn1.bz2; matrix_form_test.cpp checks the same iteration
// on built-in data.

#include <cstdlib>
#include <filesystem>
#include <optional>

#include <gtest/gtest.h>

#include "grove/data/dataset.h"
#include "support/problem.h"

namespace grove::testing_support {
namespace {

std::filesystem::path data_file() {
  const char* folder = std::getenv("GROVE_DATA_DIR");
  return std::filesystem::path(folder ? folder : GROVE_SOURCE_DIR "/../shared/data") / "ijcnn1.bz2";
}

/// Rows 0, 12, 24, ... (4000 of them); agent i of 10 gets every 10th of those from the i-th on.
/// Ring 0-1-...-9-0 with chords 0-5 and 2-7.
Problem ijcnn1_problem(const Samples& samples) {
  Problem problem{.graph = graph_of(10, {{0, 1},
                                         {1, 2},
                                         {2, 3},
                                         {3, 4},
                                         {4, 5},
                                         {5, 6},
                                         {6, 7},
                                         {7, 8},
                                         {8, 9},
                                         {9, 0},
                                         {0, 5},
                                         {2, 7}}),
                  .shards = {},
                  .terms = {.loss = LogisticLoss{}},
                  .regularizer = {.regularized = samples.dimension()}};
  for (std::uint32_t agent = 0; agent < 10; ++agent) {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t k = agent; k < 4000; k += 10) rows.push_back(12 * k);
    problem.shards.push_back(take_rows(samples, rows));
  }
  return problem;
}

/// A row of the table. No value for a level: it is not reached within `rounds`.
struct Row {
  std::string name;
  double l1;
  Config config;
  std::vector<double> errors;                   ///< after 10, 50 and 200 rounds
  std::vector<std::optional<Round>> rounds_to;  ///< 1e-2, 1e-4, 1e-8
};

Config druid(double penalty, const std::string& work, LocalModelKind model, std::uint64_t rounds) {
  Config config;
  config.penalty = penalty;
  config.work = work;
  config.local_model = model;
  config.rounds = rounds;
  config.tolerance = 0;
  return config;
}

Config pg_extra_for(std::uint64_t rounds) {
  Config config;
  config.method = Method::pg_extra;
  config.rounds = rounds;
  config.tolerance = 0;
  return config;
}

std::vector<Row> table() {
  constexpr auto augmented = LocalModelKind::augmented, linearized = LocalModelKind::linearized;
  constexpr auto never = std::nullopt;
  Config newton = druid(1e-3, "1", augmented, 400);
  newton.method = Method::druid_newton;
  const Config pg_extra = pg_extra_for(400);
  return {
      {"E1Augmented",
       2e-6,
       druid(1e-3, "1", augmented, 400),
       {2.861907e-01, 2.177691e-02, 1.406111e-05},
       {65, 160, 344}},
      {"E1Linearized",
       2e-6,
       druid(1e-3, "1", linearized, 400),
       {2.861907e-01, 2.177691e-02, 1.406111e-05},
       {65, 160, 344}},
      {"DruidNewton", 2e-6, newton, {2.861907e-01, 2.177691e-02, 1.406111e-05}, {65, 160, 344}},
      {"E10Augmented",
       2e-6,
       druid(1e-3, "10", augmented, 400),
       {2.733819e-01, 2.110668e-02, 1.366950e-05},
       {65, 159, 344}},
      {"E10Linearized",
       2e-6,
       druid(1e-3, "10", linearized, 260),
       {1.162602e-01, 9.215850e-04, 3.182535e-08},
       {29, 71, 247}},
      {"E20Linearized",
       2e-6,
       druid(1e-3, "20", linearized, 260),
       {1.156311e-01, 8.980462e-04, 3.177305e-08},
       {29, 71, 247}},
      {"LargerPenaltyE1Augmented",
       2e-6,
       druid(3e-3, "1", augmented, 400),
       {5.361000e-01, 1.549867e-01, 8.483873e-03},
       {191, never, never}},
      {"LargerPenaltyE1Linearized",
       2e-6,
       druid(3e-3, "1", linearized, 400),
       {5.361000e-01, 1.549867e-01, 8.483873e-03},
       {191, never, never}},
      {"LargerPenaltyE10Linearized",
       2e-6,
       druid(3e-3, "10", linearized, 400),
       {3.350066e-01, 4.047965e-02, 1.376434e-04},
       {85, 209, never}},
      {"LargerL1E1Augmented",
       1e-3,
       druid(1e-3, "1", augmented, 400),
       {1.295041e-01, 8.680513e-04, 1.160294e-06},
       {30, 69, never}},
      {"LargerL1E1Linearized",
       1e-3,
       druid(1e-3, "1", linearized, 400),
       {1.295041e-01, 8.680513e-04, 1.160294e-06},
       {30, 69, never}},
      {"LargerL1E10LinearizedNeverConverges",
       1e-3,
       druid(1e-3, "10", linearized, 400),
       {8.408818e-01, 3.273887e+00, 3.344330e+00},
       {never, never, never}},
      {"PgExtra",
       2e-6,
       pg_extra,
       {9.225377e-01, 7.980478e-01, 5.369154e-01},
       {never, never, never}},
  };
}

class KnownAnswers : public testing::TestWithParam<Row> {
 protected:
  static void SetUpTestSuite() {
    if (!std::filesystem::exists(data_file())) return;
    const auto data = load_dataset(data_file().string(), TargetKind::two_classes, 1);
    ASSERT_TRUE(data) << data.error().text();
    problem_ = ijcnn1_problem(data->samples);
  }
  void SetUp() override {
    if (!problem_)
      GTEST_SKIP() << "no ijcnn1.bz2 in " << data_file().parent_path().string()
                   << ": set GROVE_DATA_DIR to a folder that has it";
  }
  static Problem with_l1(double weight) {
    Problem problem = *problem_;
    problem.regularizer.l1 = weight;
    return problem;
  }

  static std::optional<Problem> problem_;
};
std::optional<Problem> KnownAnswers::problem_;

INSTANTIATE_TEST_SUITE_P(Ijcnn1, KnownAnswers, testing::ValuesIn(table()),
                         [](const testing::TestParamInfo<Row>& row) { return row.param.name; });

// The table prints seven significant digits: the last may be off by half a unit.
TEST_P(KnownAnswers, ErrorsAndRoundCountsAreThoseOfTheTable) {
  const Row& row = GetParam();
  const auto record = run_prepared(row.config, with_l1(row.l1).prepared());
  ASSERT_TRUE(record) << record.error().text();
  const auto error_after = [&](Round round) { return *record->trace.at(round).relative_error; };
  EXPECT_NEAR(error_after(10), row.errors[0], 6e-7 * row.errors[0]);
  EXPECT_NEAR(error_after(50), row.errors[1], 6e-7 * row.errors[1]);
  EXPECT_NEAR(error_after(200), row.errors[2], 6e-7 * row.errors[2]);
  EXPECT_EQ(rounds_to(*record, 1e-2), row.rounds_to[0]);
  EXPECT_EQ(rounds_to(*record, 1e-4), row.rounds_to[1]);
  EXPECT_EQ(rounds_to(*record, 1e-8), row.rounds_to[2]);
}

using ReferenceAnswers = KnownAnswers;
struct Optimum {
  double l1, objective, norm;
  Index nonzeros;
};

TEST_F(ReferenceAnswers, OptimaAreThoseOfTheTable) {
  for (const Optimum& known : {Optimum{2e-6, 0.15194076859479475, 30.917401712269935, 17},
                               Optimum{1e-3, 0.21191828866243162, 19.486784582431284, 12}}) {
    const Problem problem = with_l1(known.l1);
    const ReferenceSolution found = *problem.prepared().reference;
    EXPECT_NEAR(found.objective, known.objective, 1e-14);
    EXPECT_NEAR(found.x.norm(), known.norm, 1e-7 * known.norm);
    EXPECT_EQ((found.x.array() != 0).count(), known.nonzeros);
    EXPECT_LT(optimality_violation(problem, found.x), 1e-13);
  }
}

// The spectrum of the graph and the smoothness constant behind PG-EXTRA's step, as stated.
TEST_F(ReferenceAnswers, GraphSpectrumAndSmoothnessConstantAreThoseStated) {
  const Problem problem = with_l1(2e-6);
  const auto record = run_prepared(pg_extra_for(1), problem.prepared());
  ASSERT_TRUE(record) << record.error().text();
  EXPECT_NEAR(record->problem.lambda_max, 5.11490754, 5e-9);
  EXPECT_NEAR(record->problem.lambda_2, 0.69722436, 5e-9);
  EXPECT_NEAR(1 / record->config["step"].get<double>(), 0.2963207668901078, 1e-14);
}

}  // namespace
}  // namespace grove::testing_support
