// What the command line writes and prints: files whole wherever they go, notes before the run, and
// nothing lost when the reader of a pipe goes away.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "grove/record/model.h"
#include "grove/record/record.h"
#include "support/command_line.h"

namespace grove {
namespace {

class CommandLineOutput : public CommandLine {
 protected:
  nlohmann::json json_in(const std::string& name) {
    return nlohmann::json::parse(*read_file(folder / name));
  }
};

TEST_F(CommandLineOutput, SwitchesTakeValuesSoThatAFlagCanUndoAConfigFile) {
  good_data();
  file("run.toml", "intercept = true\nno-reference = true\n");
  const std::string run = "train good.svm --config run.toml --rounds 1 --record r.json ";
  ASSERT_EQ(grove(run + "--intercept=false --no-reference=0 --quiet=false").code, 0);
  EXPECT_EQ(json_in("r.json").at("config").at("intercept"), false);
  EXPECT_EQ(json_in("r.json").at("config").at("no-reference"), false);
  EXPECT_NE(*read_file(folder / "out.txt"), "");
  ASSERT_EQ(grove(run + "--intercept").code, 0);
  EXPECT_EQ(json_in("r.json").at("config").at("intercept"), true);
}

// The record is larger than a pipe holds, so that the program notices that its reader is gone.
TEST_F(CommandLineOutput, FilesAreWrittenEvenIfTheReaderOfThePipeGoesAway) {
  good_data();
  const std::string options = " good.svm --rounds 300 --tolerance 0 --json --record r.json ";
  for (const std::string command : {"train", "compare --methods nids"}) {
    fs::remove(folder / "r.json");
    grove(command + options + "| true");
    EXPECT_TRUE(fs::exists(folder / "r.json")) << command;
  }
}

TEST_F(CommandLineOutput, AFullDiskUnderStandardOutputIsAnError) {
  good_data();
  ASSERT_EQ(grove("train good.svm --rounds 2 --model m.json").code, 0);
  for (const std::string command :
       {"train good.svm --rounds 2 --json", "train good.svm --rounds 2", "data list",
        "data list --json", "theory good.svm --agents 2", "predict m.json good.svm",
        "predict m.json good.svm --out p.txt", "compare good.svm --methods nids --rounds 2"}) {
    const Ended ended = grove(command + " >/dev/full 2>error.txt || (exit $?)");
    EXPECT_EQ(ended.code, 2) << command;
    EXPECT_NE(read_file(folder / "error.txt")->find("grove: standard output: "), std::string::npos)
        << command;
  }
}

/// A server that accepts connections and never answers.
struct Silence {
  Silence() {
    sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(socket, 4), 0);
    EXPECT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port = ntohs(address.sin_port);
  }
  ~Silence() { ::close(socket); }

  int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int port = 0;
};

TEST_F(CommandLineOutput, ADownloadThatIsInterruptedEndsWith130) {
  const Silence server;
  const std::string command = fmt::format(
      "cd '{}' && timeout --preserve-status -s INT 2 {} data get ijcnn1 --out . "
      "--url http://127.0.0.1:{}/x >out.txt 2>err.txt </dev/null",
      folder.string(), GROVE_PROGRAM, server.port);
  const int status = std::system(command.c_str());
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130) << *read_file(folder / "err.txt");
}

TEST_F(CommandLineOutput, WritesThroughLinksAndIntoPipesInsteadOfReplacingThem) {
  good_data();
  fs::create_directories(folder / "elsewhere");
  fs::create_symlink("elsewhere/r.json", folder / "link.json");
  fs::create_symlink("elsewhere/p.svg", folder / "link.svg");
  ASSERT_EQ(grove("train good.svm --rounds 1 --record link.json --plot link.svg").code, 0);
  EXPECT_TRUE(fs::is_symlink(folder / "link.json"));
  EXPECT_TRUE(record_from_json(json_in("elsewhere/r.json")));
  EXPECT_TRUE(fs::is_symlink(folder / "link.svg"));
  EXPECT_GT(fs::file_size(folder / "elsewhere" / "p.svg"), 1000u);

  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::string received;
  std::jthread reader([&] { received = *read_file(folder / "pipe"); });
  ASSERT_EQ(grove("train good.svm --rounds 1 --record pipe").code, 0);
  EXPECT_TRUE(fs::is_fifo(folder / "pipe"));
  reader.join();
  EXPECT_TRUE(record_from_json(nlohmann::json::parse(received)));
}

TEST_F(CommandLineOutput, EveryOutputNeedsAFileOfItsOwn) {
  good_data();
  const Ended ended = grove("train good.svm --record x.json --model ./x.json");
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.err.find("--model"), std::string::npos) << ended.err;
  EXPECT_FALSE(fs::exists(folder / "x.json"));
  EXPECT_EQ(grove("train good.svm --rounds 1 --record /dev/null --model /dev/null").code, 0);
}

// With an l1 weight of 10 the answer is zero, where the run starts.
TEST_F(CommandLineOutput, ARunThatStartsAtTheOptimumSucceedsWithoutAPicture) {
  good_data();
  const Ended ended = grove("train good.svm --l1 10 --plot p.svg");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.err.find("note: p.svg is not drawn"), std::string::npos) << ended.err;
  EXPECT_FALSE(fs::exists(folder / "p.svg"));
}

TEST_F(CommandLineOutput, WithoutGnuplotAPictureIsRefusedBeforeTheRun) {
  good_data();
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", folder.c_str(), 1);
  expect_refused("train good.svm --plot p.svg", {"--plot", "gnuplot"});
  ::setenv("PATH", path.c_str(), 1);
}

TEST_F(CommandLineOutput, NotesGoToStandardErrorAndSummariesToStandardOutput) {
  good_data();
  const std::string run =
      "train good.svm --rounds 1 --sampling minibatch --batch-gradient 100000 --batch-hessian 9 "
      "--record r.json ";
  const Ended ended = grove(run);
  EXPECT_TRUE(ended.err.starts_with("note: --batch-gradient 100000")) << ended.err;
  EXPECT_EQ(ended.out.find("note"), std::string::npos);
  EXPECT_EQ(json_in("r.json").at("notes").size(), 1u);
  EXPECT_EQ(grove(run + "--quiet").err, "");
}

// The clamp is a note too, but it does not make a linearized model of one step unstable.
TEST_F(CommandLineOutput, TheDiagnosisNamesTheCauseAndNotAnyNote) {
  const Ended ended = grove(
      "train synthetic:ijcnn-like,samples=500 --local-model linearized --work 1 --sampling "
      "minibatch --batch-gradient 2 --batch-hessian 100000 --penalty 1e-9 --no-reference");
  EXPECT_EQ(ended.code, 3) << ended.out;
  EXPECT_NE(ended.err.find("grove: diverged"), std::string::npos);
  EXPECT_NE(ended.err.find("sampling noise"), std::string::npos) << ended.err;
}

TEST_F(CommandLineOutput, AComparisonSaysWhyMethodsDivergedAndFailsIfAllDid) {
  const std::string compare =
      "compare synthetic:gaussian,samples=300,features=5 --agents 5 --step 1e6 --loss squared "
      "--rounds 500 --methods ";
  const Ended all = grove(compare + "nids");
  EXPECT_EQ(all.code, 3);
  EXPECT_NE(all.err.find("note: nids: diverged"), std::string::npos) << all.err;
  EXPECT_NE(all.err.find("--step"), std::string::npos) << all.err;
  EXPECT_EQ(grove(compare + "nids,druid-vl").code, 0);
}

TEST_F(CommandLineOutput, ValuesThatOverflowAreBadInputRatherThanDivergence) {
  file("huge.svm", "1 1:1e200\n-1 1:-1e200\n1 1:2e200\n-1 1:1\n");
  expect_refused("train huge.svm --agents 2", {"huge.svm", "overflow"});
}

TEST_F(CommandLineOutput, DamagedModelsAreNamedInPlainWords) {
  good_data();
  file("number.json", R"({"format": 3})");
  file("short.json", R"({"format": "grove-model/1", "version": "1"})");
  for (const std::string name : {"number.json", "short.json"}) {
    const Ended ended = grove("predict " + name + " good.svm");
    EXPECT_EQ(ended.code, 2);
    EXPECT_TRUE(ended.err.starts_with("grove: " + name + ": ")) << ended.err;
    EXPECT_EQ(ended.err.find("json.exception"), std::string::npos) << ended.err;
  }
}

// The model is 2 a + 0 b by hand: margins 2 and -2, whose signs give the class.
TEST_F(CommandLineOutput, PredictsDataWithoutLabelsFromAllItsFeatures) {
  Model model{.version = "test",
              .loss = LogisticLoss{},
              .coefficients = Vector::Zero(2),
              .labels = LabelNames{0, 1}};
  model.coefficients[0] = 2;
  file("model.json", to_json(model).dump());
  file("unlabelled.csv", "a,b\n1,5\n-1,0\n");
  const Ended ended = grove("predict model.json unlabelled.csv --json");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const auto prediction = nlohmann::json::parse(ended.out);
  EXPECT_EQ(prediction.at("margins"), nlohmann::json({2.0, -2.0}));
  EXPECT_TRUE(prediction.at("scores").empty());
  EXPECT_NE(grove("predict model.json unlabelled.csv").err.find("no labels"), std::string::npos);
}

TEST_F(CommandLineOutput, ScoresInJsonHaveNamesThatProgramsCanUse) {
  good_data();
  ASSERT_EQ(grove("train good.svm --rounds 5 --model m.json").code, 0);
  const auto scores = nlohmann::json::parse(grove("predict m.json good.svm --json").out);
  for (const char* key : {"accuracy", "log_loss", "auc"})
    EXPECT_TRUE(scores.at("scores").contains(key)) << key;
}

}  // namespace
}  // namespace grove
