// The safeguard of slow runs: where links converge slowly, Newton steps on exact sums begin beside
// them. Runs that end before are not touched.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "grove/record/record.h"
#include "grove/train/problem.h"
#include "grove/train/run.h"

namespace grove {
namespace {

/// minimize (1/n) sum_i mean of Huber losses + (1e-6/2) |x|^2, with delta = 0.01 far below the
/// residuals and a row of 1000 times the others: second derivatives vanish for most rows.
struct Table {
  std::vector<double> values, targets;
  static constexpr Index rows = 90, columns = 4;

  Table() {
    for (Index row = 0; row < rows; ++row) {
      double target = 0;
      for (Index column = 0; column < columns; ++column) {
        const double value =
            std::sin(1.0 + 7.0 * row + 3.0 * column + row * column) * (row == 17 ? 1000 : 1);
        values.push_back(value);
        target += value * (column % 2 == 0 ? 1 : -2);
      }
      targets.push_back(target + std::sin(40.0 * row));
    }
  }
  Problem problem() const {
    return *Problem::from_samples(
        DenseView{.values = values.data(), .rows = rows, .columns = columns}, targets);
  }
};

Options slow_options() {
  Options options;
  options.agents = 9;
  options.agents_given = true;
  options.graph = "path";
  options.loss = HuberLoss{0.01};
  options.l2 = 1e-6;
  options.threads = 1;
  return options;
}

std::size_t begun(const RunRecord& record) {
  return static_cast<std::size_t>(std::ranges::count_if(record.events, [](const RunEvent& event) {
    return event.what.find("exact sums") != std::string::npos;
  }));
}

nlohmann::json essence(const RunRecord& record) {
  nlohmann::json json = to_json(record);
  json["config"].erase("checkpoint");
  json["config"].erase("threads");
  json["outcome"].erase("seconds");
  for (auto& row : json["trace"]) row.erase("seconds");
  return json;
}

TEST(SlowLinks, ConvergeWithNewtonStepsOnExactSums) {
  const Table table;
  Options options = slow_options();
  const auto safeguarded = run(table.problem(), options);
  options.safeguard = false;
  const auto alone = run(table.problem(), options);
  ASSERT_TRUE(safeguarded && alone);
  EXPECT_EQ(safeguarded->outcome.status, RunStatus::converged);
  ASSERT_TRUE(safeguarded->reference);
  const double optimum = safeguarded->reference->objective;
  EXPECT_LE(safeguarded->objective - optimum, 1e-6 * optimum);
  EXPECT_GT(begun(*safeguarded), 0u);
  EXPECT_LT(2 * safeguarded->outcome.rounds, alone->outcome.rounds);
  EXPECT_EQ(begun(*alone), 0u);
}

TEST(SlowLinks, GiveTheSameRecordWithAnyNumberOfThreads) {
  const Table table;
  Options options = slow_options();
  const auto one = run(table.problem(), options);
  options.threads = 3;
  const auto three = run(table.problem(), options);
  ASSERT_TRUE(one && three);
  EXPECT_EQ(essence(*one), essence(*three));
}

TEST(SlowLinks, GoOnFromACheckpointInTheMiddleOfAWave) {
  const Table table;
  Options options = slow_options();
  const auto whole = run(table.problem(), options);
  ASSERT_TRUE(whole);
  const auto folder =
      std::filesystem::temp_directory_path() / ("grove-slow-links-" + std::to_string(getpid()));
  std::filesystem::remove_all(folder);
  options.checkpoint = folder.string();
  options.rounds = whole->outcome.rounds - 7;
  ASSERT_TRUE(run(table.problem(), options));
  options.rounds = slow_options().rounds;
  const auto resumed = run(table.problem(), options);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(resumed) << resumed.error().text();
  EXPECT_EQ(essence(*resumed)["solution"], essence(*whole)["solution"]);
  EXPECT_EQ(resumed->outcome.rounds, whole->outcome.rounds);
}

TEST(SlowLinks, ConvergeThoughMessagesAreLostAndAgentsRest) {
  const Table table;
  Options options = slow_options();
  options.link = LinkKind::edge;
  options.loss_rate = 0.2;
  options.delay = 2;
  options.participation = "0.6";
  options.rounds = 3000;
  const auto record = run(table.problem(), options);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->outcome.status, RunStatus::converged);
  EXPECT_GT(begun(*record), 0u);
}

TEST(SlowLinks, AreLeftAloneInRunsThatAreFast) {
  Options options;
  options.agents = 5;
  options.agents_given = true;
  options.graph = "ring";
  options.data = "synthetic:ijcnn-like,samples=400";
  options.l2 = 1e-3;
  const auto safeguarded = run(options);
  options.safeguard = false;
  const auto alone = run(options);
  ASSERT_TRUE(safeguarded && alone);
  EXPECT_EQ(to_json(*safeguarded)["solution"], to_json(*alone)["solution"]);
  EXPECT_EQ(safeguarded->trace.back().cost.bytes_sent, alone->trace.back().cost.bytes_sent);
}

TEST(SlowLinks, AreLeftAloneInRunsThatNeverStopEarly) {
  const Table table;
  Options options = slow_options();
  options.tolerance = 0;
  const auto record = run(table.problem(), options);
  ASSERT_TRUE(record);
  EXPECT_EQ(begun(*record), 0u);
}

}  // namespace
}  // namespace grove
