#include "experiments/trial.h"

#include <atomic>
#include <chrono>

#include <gtest/gtest.h>

#include "experiments/reproduce.h"
#include "experiments/trial_runner.h"
#include "grove/base/file.h"

namespace grove::experiments {
namespace {

std::filesystem::path fresh_folder(const std::string& name) {
  const auto folder = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove_all(folder);
  return folder;
}

Trial small_trial() {
  Trial trial;
  trial.config.data = "synthetic:gaussian,samples=120,features=4";
  trial.config.agents = 4;
  trial.config.graph = "ring";
  trial.config.l2 = 0.1;
  trial.config.penalty = 0.05;
  trial.config.rounds = 30;
  trial.config.tolerance = 0;
  return trial;
}

TEST(TrialStore, GivesBackWhatWasSavedAndNothingElse) {
  const auto store = TrialStore::open(fresh_folder("grove-trials"));
  ASSERT_TRUE(store);
  Trial trial = small_trial();
  trial.record = "whole";
  EXPECT_FALSE(store->load(trial));
  const auto problem = prepare(trial.config);
  ASSERT_TRUE(problem);
  const auto finished = run_trial(trial, *problem, {});
  ASSERT_TRUE(finished && *finished);
  ASSERT_TRUE(store->save(trial, **finished));

  const auto loaded = store->load(trial);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->error, (*finished)->result.error);
  EXPECT_EQ(loaded->round.size(), 31u);
  EXPECT_EQ(loaded->broadcasts.back(), 4 * 30);
  EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(testing::TempDir()) /
                                      "grove-trials/records/whole.json"));

  Trial other = trial;
  other.config.penalty = 0.06;
  EXPECT_FALSE(store->load(other));
  other = trial;
  other.stop.reached = 0.1;
  EXPECT_FALSE(store->load(other));
}

TEST(TrialStore, ADamagedOrForeignFileCountsAsNotThere) {
  const auto folder = fresh_folder("grove-damaged-trials");
  const auto store = TrialStore::open(folder);
  const Trial trial = small_trial();
  const auto finished = run_trial(trial, *prepare(trial.config), {});
  ASSERT_TRUE(store->save(trial, **finished));
  const auto file = std::filesystem::directory_iterator(folder / "trials")->path();
  auto json = nlohmann::json::parse(*read_file(file));
  const auto loads = [&](const std::string& text) {
    EXPECT_TRUE(write_file_atomically(file, text));
    return store->load(trial).has_value();
  };
  EXPECT_TRUE(loads(json.dump()));
  for (const char* text : {"[]", "3", "", "{", R"({"format": 5})"})
    EXPECT_FALSE(loads(text)) << text;
  for (const char* key : {"round", "error", "seconds", "broadcasts"}) {
    auto damaged = json;
    damaged[key].erase(damaged[key].begin());
    EXPECT_FALSE(loads(damaged.dump())) << "one " << key << " missing";
    damaged.erase(key);
    EXPECT_FALSE(loads(damaged.dump())) << "no " << key;
  }
}

TEST(Trial, EndsWhereItsStopRuleSays) {
  Trial trial = small_trial();
  trial.stop.reached = 0.05;
  const auto problem = prepare(trial.config);
  ASSERT_TRUE(problem);
  const auto reached = run_trial(trial, *problem, {});
  ASSERT_TRUE(reached && *reached);
  const auto& errors = (*reached)->result.error;
  EXPECT_LE(errors.back(), 0.05);
  EXPECT_GT(errors[errors.size() - 2], 0.05);
  EXPECT_FALSE((*reached)->result.lost);

  trial.stop = {.reached = 0, .lost = 0.5};  // the start, with error 1, is beyond it
  const auto lost = run_trial(trial, *problem, {});
  ASSERT_TRUE(lost && *lost);
  EXPECT_TRUE((*lost)->result.lost);
  EXPECT_EQ((*lost)->result.error.size(), 1u);
}

TEST(Trial, AnInterruptedRunIsNotAResult) {
  const Trial trial = small_trial();
  const auto problem = prepare(trial.config);
  ASSERT_TRUE(problem);
  RunHooks hooks;
  hooks.interrupted = [] { return true; };
  const auto result = run_trial(trial, *problem, hooks);
  ASSERT_TRUE(result);
  EXPECT_FALSE(*result);
}

// Two figures may show the same run. A clock that never shows the same time twice reveals a run
// that was repeated, or read back with another time than was drawn.
TEST(TrialRunner, RunsEqualTrialsOnceAndReadsBackTheSameTimes) {
  const auto folder = fresh_folder("grove-equal-trials");
  JobHooks hooks;
  hooks.seconds = [ticks = 0.0]() mutable { return ticks += 1 + ticks / 7; };
  const Trial trial = small_trial();
  const std::vector<Trial> trials{trial, trial};
  std::vector<double> shown;
  for (int call = 0; call < 2; ++call) {
    TrialRunner runner(*TrialStore::open(folder), hooks, trials.size(), 1);
    const auto results = runner.run(trials);
    ASSERT_TRUE(results && *results);
    EXPECT_EQ((**results)[0].seconds, (**results)[1].seconds);
    if (call == 0) shown = (**results)[0].seconds;
    EXPECT_EQ((**results)[0].seconds, shown);
  }
}

// The whole job in its small form: interrupted at the third trial, resumed, and called a third
// time.
TEST(Reproduce, QuickFormDrawsEverythingAndResumes) {
  ReproduceOptions options;
  options.scale = quick_scale();
  options.out = fresh_folder("grove-reproduce-quick");
  options.hooks.seconds = [] {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
  };
  Progress last;
  std::atomic<bool> enough = false;  // asked by all workers
  options.hooks.progress = [&](const Progress& now) {
    last = now;
    enough = now.trials_done >= 3;
  };
  options.hooks.interrupted = [&enough] { return enough.load(); };
  const auto cut = reproduce(options);
  ASSERT_TRUE(cut) << cut.error().text();
  EXPECT_FALSE(*cut);
  EXPECT_FALSE(std::filesystem::exists(options.out / "report.md"));

  options.hooks.interrupted = [] { return false; };
  const auto done = reproduce(options);
  ASSERT_TRUE(done) << done.error().text();
  ASSERT_TRUE(*done);
  EXPECT_EQ(last.trials_done, last.trials);
  for (const char* name : {"report.md", "report.html", "figure1a-literal-linearized.svg",
                           "figure1b-picture-augmented.png", "figure1a-picture-linearized.csv",
                           "figure2-picture-linearized.svg", "records/P2D2.json"})
    EXPECT_TRUE(std::filesystem::exists(options.out / name)) << name;
  EXPECT_NE(read_file(options.out / "report.html")->find("data:image/svg+xml"), std::string::npos);

  const std::string report = *read_file(options.out / "report.md");
  ASSERT_TRUE(reproduce(options));
  EXPECT_EQ(last.effort_run, 0);  // nothing was left to run
  EXPECT_EQ(*read_file(options.out / "report.md"), report);
}

}  // namespace
}  // namespace grove::experiments
