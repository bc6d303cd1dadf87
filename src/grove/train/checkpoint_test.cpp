#include "grove/train/checkpoint.h"
#include "grove/train/checkpoint_file.h"

#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "grove/base/file.h"
#include "grove/train/run.h"

namespace grove {
namespace {

namespace fs = std::filesystem;

class Checkpoints : public testing::Test {
 protected:
  Checkpoints()
      : folder_(fs::temp_directory_path() / fmt::format("grove-checkpoint-{}", ::getpid())) {
    fs::remove_all(folder_);
  }
  ~Checkpoints() override { fs::remove_all(folder_); }

  /// Every fifth round is kept, in a folder that does not exist yet.
  Config config() const {
    Config config;
    config.data = "synthetic:ijcnn-like,samples=200";
    config.agents = 5;
    config.graph = "ring";
    config.l1 = 1e-3;
    config.rounds = 12;
    config.tolerance = 0;
    config.keep_estimates = true;
    config.threads = 1;
    config.checkpoint_every = 5;
    return config;
  }
  Config kept(Config config, std::uint64_t rounds) const {
    config.checkpoint = folder_.string();
    config.rounds = rounds;
    return config;
  }
  fs::path file() const { return folder_ / "checkpoint.grove"; }

  fs::path folder_;
};

nlohmann::json essence(const RunRecord& record) {
  nlohmann::json json = to_json(record);
  json["config"].erase("checkpoint");
  json["outcome"].erase("seconds");
  for (auto& row : json["trace"]) row.erase("seconds");
  return json;
}

TEST_F(Checkpoints, SimulatedSecondsGoOn) {
  Config whole = config();
  whole.speeds = "uniform:0.1:1";
  whole.latency = "1e-4";
  const auto expected = run(whole);
  ASSERT_TRUE(run(kept(whole, 7)));
  const auto resumed = run(kept(whole, 12));
  ASSERT_TRUE(expected && resumed);
  EXPECT_GT(*expected->trace.back().simulated_seconds, 12 * 1e-4);
  EXPECT_EQ(essence(*resumed), essence(*expected));
}

// The oracle is the run that was never interrupted.
TEST_F(Checkpoints, ResumeEveryMethodToTheRecordOfOneRun) {
  for (const Method& method : built_in_methods()) {
    const std::string& name = method.name();
    Config whole = config();
    whole.method = method;
    const auto uninterrupted = run(whole);
    ASSERT_TRUE(uninterrupted) << uninterrupted.error().text();
    ASSERT_TRUE(run(kept(whole, 7)));  // leaves a checkpoint of round 5
    const auto resumed = run(kept(whole, 12));
    ASSERT_TRUE(resumed) << resumed.error().text();
    EXPECT_EQ(essence(*resumed), essence(*uninterrupted)) << name;
    fs::remove_all(folder_);
  }
}

TEST_F(Checkpoints, KeepMessagesThatAreOnTheirWay) {
  Config whole = config();
  whole.link = LinkKind::edge;
  whole.delay = 4;
  whole.loss_rate = 0.1;
  whole.participation = "0.6";
  whole.measure_every = 3;  // the checkpoint is of a round that is not measured
  const auto uninterrupted = run(whole);
  ASSERT_TRUE(run(kept(whole, 6)));
  const auto resumed = run(kept(whole, 12));
  ASSERT_TRUE(uninterrupted && resumed);
  EXPECT_EQ(essence(*resumed), essence(*uninterrupted));
}

TEST_F(Checkpoints, AreWrittenWhenARunIsInterrupted) {
  int asked = 0;
  RunHooks hooks;
  hooks.interrupted = [&] { return ++asked > 3; };  // after three rounds
  const auto interrupted = run(kept(config(), 12), hooks);
  ASSERT_TRUE(interrupted);
  EXPECT_EQ(interrupted->outcome.status, RunStatus::interrupted);
  const auto resumed = run(kept(config(), 12));
  const auto uninterrupted = run(config());
  ASSERT_TRUE(resumed && uninterrupted);
  EXPECT_EQ(essence(*resumed), essence(*uninterrupted));
}

// Three more rounds after a run that was limited: as if there had been no limit, whether or not the
// last round of the first run would have been measured.
TEST_F(Checkpoints, AreLeftByARunThatEndsAtItsRoundLimit) {
  for (const std::uint64_t every : {1u, 4u}) {
    fs::remove_all(folder_);
    Config whole = config();
    whole.measure_every = every;
    whole.checkpoint_every = 100;
    const Config first = kept(whole, 9), rest = kept(whole, 12);
    const auto limited = run(first);
    ASSERT_TRUE(limited);
    EXPECT_EQ(limited->outcome.status, RunStatus::round_limit);
    EXPECT_EQ(checkpoint_from_bytes("it", *read_file(file()))->round, 9u);
    const auto resumed = run(rest);
    whole.rounds = 12;
    const auto uninterrupted = run(whole);
    ASSERT_TRUE(resumed && uninterrupted);
    EXPECT_EQ(essence(*resumed), essence(*uninterrupted));
  }
}

TEST_F(Checkpoints, ThatCanNoLongerBeWrittenCostTheCheckpointNotTheRun) {
  int asked = 0, told = 0;
  RunHooks hooks;
  hooks.interrupted = [&] {
    if (++asked == 7) {  // after the first checkpoint, before the second
      fs::remove_all(folder_);
      std::ofstream(folder_) << "a file in the folder's place";
    }
    return false;
  };
  hooks.noted = [&](std::string_view note) { told += note.starts_with("no checkpoint after"); };
  const auto record = run(kept(config(), 17), hooks);
  ASSERT_TRUE(record) << record.error().text();
  EXPECT_EQ(record->outcome.rounds, 17u);
  EXPECT_EQ(told, 1) << "once, of two that failed";
  ASSERT_FALSE(record->notes.empty());
  EXPECT_TRUE(record->notes.back().starts_with("no checkpoint after round 10"));
}

TEST_F(Checkpoints, OfOtherOptionsOrDataAreRefused) {
  ASSERT_TRUE(run(kept(config(), 6)));
  Config other = kept(config(), 12);
  other.penalty = 0.5;
  const auto refused = run(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "--checkpoint");
  EXPECT_NE(refused.error().what.find("--penalty"), std::string::npos) << refused.error().what;
  const auto too_few = run(kept(config(), 3));
  ASSERT_FALSE(too_few);
  EXPECT_EQ(too_few.error().where, "--rounds");
}

TEST_F(Checkpoints, ThatAreDamagedAreRefusedWhereverTheyAre) {
  ASSERT_TRUE(run(kept(config(), 6)));
  const std::string whole = *read_file(file());
  for (std::size_t at = 0; at < whole.size(); at += whole.size() / 40 + 1) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    EXPECT_FALSE(checkpoint_from_bytes("it", damaged)) << "byte " << at;
    EXPECT_FALSE(checkpoint_from_bytes("it", whole.substr(0, at))) << "cut at " << at;
  }
  EXPECT_TRUE(checkpoint_from_bytes("it", whole));
}

TEST(CheckpointFile, OfAnotherKindIsRefusedByName) {
  const std::string peer = seal_checkpoint(CheckpointKind::peer, "front", "rest");
  const auto content = open_checkpoint(CheckpointKind::peer, peer);
  ASSERT_TRUE(content);
  EXPECT_EQ(*content, "frontrest");
  const auto refused = open_checkpoint(CheckpointKind::run, peer);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "is a checkpoint of another kind, `peer`; expected `run`");
}

TEST_F(Checkpoints, OfAnotherVersionAreRefusedByName) {
  ASSERT_TRUE(run(kept(config(), 6)));
  const std::string whole = *read_file(file());
  for (const char* other : {"grove-checkpoint/1", "grove-checkpoint/8"}) {
    ASSERT_TRUE(write_file_atomically(file(), other + whole.substr(18)));
    const auto refused = run(kept(config(), 12));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().where, file().string());
    EXPECT_NE(refused.error().what.find("expected the format grove-checkpoint/7"),
              std::string::npos)
        << refused.error().what;
  }
}

}  // namespace
}  // namespace grove
