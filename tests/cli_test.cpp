// The command line as a user meets it: exit codes, messages that name what is wrong, files whole or
// not at all. Runs the built program.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "grove/record/model.h"
#include "grove/record/record.h"
#include "support/command_line.h"

namespace grove {
namespace {

/// Whether the process has installed its handler of SIGINT, as the kernel reports it.
bool catches_interrupts(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("SigCgt:"))
      return std::stoull(line.substr(7), nullptr, 16) & (1u << (SIGINT - 1));
  return false;
}

TEST_F(CommandLine, RefusesBadDataNamingFileAndLine) {
  expect_refused("train nowhere.svm", {"nowhere.svm"});
  file("empty.svm", "");
  expect_refused("train empty.svm", {"empty.svm"});
  file("token.svm", "1 1:0.5\n-1 x:2\n");
  expect_refused("train token.svm", {"token.svm:2"});
  file("truncated.svm", "1 1:0.5\n-1 2:\n");
  expect_refused("train truncated.svm", {"truncated.svm:2"});
  file("zero.svm", "1 1:0.5\n-1 0:2\n");
  expect_refused("train zero.svm", {"zero.svm:2", "0"});
  file("falling.svm", "1 2:0.5 1:3\n-1 1:2\n");
  expect_refused("train falling.svm", {"falling.svm:1"});
  file("nan.svm", "1 1:nan\n-1 1:1\n");
  expect_refused("train nan.svm", {"nan.svm:1"});
  file("infinite.svm", "1 1:1\n-1 1:inf\n");
  expect_refused("train infinite.svm", {"infinite.svm:2"});
  file("one.svm", "1 1:1\n1 2:1\n");
  expect_refused("train one.svm --agents 1", {"one.svm", "label"});
  file("three.svm", "1 1:1\n2 2:1\n3 1:2\n");
  expect_refused("train three.svm --agents 1", {"three.svm", "label"});
  file("truncated.svm.bz2", "BZh91AY&SY");
  expect_refused("train truncated.svm.bz2", {"truncated.svm.bz2", "truncated"});
  file("plain.svm.bz2", "1 1:1\n-1 1:2\n");
  expect_refused("train plain.svm.bz2", {"plain.svm.bz2", "expected bzip2 data"});
  file("no-label.csv", "a,b\n1,2\n3\n");
  expect_refused("train no-label.csv", {"no-label.csv:3"});
  expect_refused("train synthetic:ijcn-like", {"ijcn-like", "ijcnn-like"});
}

TEST_F(CommandLine, RefusesBadNetworksNamingTheFlag) {
  const std::string data = good_data();
  expect_refused("train good.svm --agents 201", {"--agents", "201"});
  expect_refused("train good.svm --agents 0", {"--agents"});
  file("cut.graph", "0 1\n2 3\n");
  expect_refused("train good.svm --agents 4 --graph cut.graph", {"cut.graph", "connected"});
  file("loop.graph", "0 1\n1 1\n");
  expect_refused("train good.svm --agents 2 --graph loop.graph", {"loop.graph:2"});
  file("stranger.graph", "0 1\n1 7\n");
  expect_refused("train good.svm --agents 2 --graph stranger.graph", {"stranger.graph:2", "7"});
  expect_refused("train good.svm --graph rink", {"--graph", "ring"});
  expect_refused("train good.svm --graph erdos-renyi:2", {"--graph"});
  file("short.parts", "0\n1\n");
  expect_refused("train good.svm --agents 2 --partition short.parts", {"short.parts"});
}

TEST_F(CommandLine, RefusesBadSettingsNamingTheFlag) {
  good_data();
  expect_refused("train good.svm --penalty -1", {"--penalty", "-1", "above 0"});
  expect_refused("train good.svm --penalty nan", {"--penalty"});
  expect_refused("train good.svm --participation 0", {"--participation"});
  expect_refused("train good.svm --participation 1.5", {"--participation"});
  expect_refused("train good.svm --work 0", {"--work"});
  expect_refused("train good.svm --work 1,2,3", {"--work"});
  expect_refused("train good.svm --method nope", {"--method", "nope", "druid-vl"});
  expect_refused("train good.svm --loss-rate 0.5", {"--loss-rate", "edge"});
  expect_refused("train good.svm --link broadcast --delay 2", {"--delay", "edge"});
  expect_refused("train good.svm --method pg-extra --participation 0.5",
                 {"--participation", "pg-extra"});
  expect_refused("train good.svm --method nids --link edge", {"--link", "nids"});
  expect_refused("train good.svm --penalti 1", {"--penalti", "--penalty"});
  expect_refused("train good.svm --rounds ten", {"--rounds", "ten"});
  expect_refused("train good.svm --plot picture.jpg", {"--plot", ".svg", ".pdf"});
  expect_refused("train good.svm --csv trace.txt", {"--csv", ".csv"});
  expect_refused("train good.svm --x miles", {"--x", "bytes"});
  EXPECT_EQ(grove("train good.svm --record no/such/folder/r.json").code, 2);
}

TEST_F(CommandLine, UnknownNamesGetASuggestion) {
  good_data();
  expect_refused("train good.svm --lambda 0.1", {"--lambda: unknown option", "--l1 or --l2?"});
  expect_refused("train good.svm --lambda=0.1", {"--lambda: unknown option", "--l1 or --l2?"});
  expect_refused("train good.svm --max-iter 5", {"--max-iter", "did you mean --rounds?"});
  expect_refused("compare good.svm --method nids", {"--method:", "did you mean --methods?"});
  expect_refused("train good.svm --zzzzzz", {"--zzzzzz: unknown option; see grove train --help"});
  file("lambda.toml", "agents = 4\nlambda = 0.1\n");
  expect_refused("train good.svm --config lambda.toml",
                 {"lambda.toml:2: unknown key 'lambda'; did you mean l1 or l2?"});
  EXPECT_EQ(
      grove("tarin").err,
      "grove: 'tarin' is unknown; expected one of: train, fit, summary, predict, compare, "
      "plot, export, data, reproduce, theory, peer, network, audit, site, study, doctor, view, "
      "completion; did you mean train?\n");
  EXPECT_NE(grove("benchmark").err.find("did you mean compare?"), std::string::npos);
}

TEST_F(CommandLine, HelpIsShownWithoutACommandAndByItsName) {
  const Ended alone = grove("");
  EXPECT_EQ(alone.code, 0);
  EXPECT_EQ(alone.err, "");
  for (const char* command : {"train", "predict", "compare", "plot", "network"})
    EXPECT_NE(alone.out.find(command), std::string::npos) << command;
  EXPECT_EQ(grove("help").out, alone.out);
  EXPECT_EQ(grove("--help").out, alone.out);
  const Ended train = grove("help train");
  EXPECT_EQ(train.code, 0);
  EXPECT_EQ(train.out, grove("train --help").out);
  EXPECT_NE(train.out.find("--penalty"), std::string::npos);
  EXPECT_EQ(grove("help network").code, 0);
}

TEST_F(CommandLine, RefusesBadConfigFilesNamingLineAndClosestKey) {
  good_data();
  file("typo.toml", "# comment\npenalti = 1\n");
  expect_refused("train good.svm --config typo.toml", {"typo.toml:2", "penalti", "penalty"});
  file("range.toml", "agents = 4\npenalty = -1\n");
  expect_refused("train good.svm --config range.toml", {"range.toml:2", "penalty"});
  file("syntax.toml", "penalty = \n");
  expect_refused("train good.svm --config syntax.toml", {"syntax.toml:1"});
  expect_refused("train good.svm --config missing.toml", {"missing.toml"});
  file("later.toml", "agents = 4\nwork = 'uniform:0:3'\n");
  expect_refused("train good.svm --config later.toml", {"later.toml:2: work"});
  file("graph.toml", "graph = 'rink'\n");
  expect_refused("train good.svm --config graph.toml", {"graph.toml:1: graph"});
}

TEST_F(CommandLine, ConfigFilesUseTheNamesOfFlagsAndFlagsWin) {
  good_data();
  file("run.toml",
       "data = 'good.svm'\nagents = 4\ngraph = 'ring'\nrounds = 7\ntolerance = 0\nl2 = 0.01\n"
       "work = [1, 2, 3, 4]\nintercept = true\nrecord = 'record.json'\n");
  const Ended ended = grove("train --config run.toml --rounds 3");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const auto record = record_from_json(nlohmann::json::parse(*read_file(folder / "record.json")));
  ASSERT_TRUE(record) << record.error().text();
  EXPECT_EQ(record->outcome.rounds, 3u);
  EXPECT_EQ(record->config.at("agents"), 4);
  EXPECT_EQ(record->config.at("intercept"), true);
  EXPECT_EQ(record->agents.at(2).work, 3);
}

TEST_F(CommandLine, JsonOnStandardOutputIsTheRecordItself) {
  good_data();
  const Ended ended = grove("train good.svm --rounds 4 --tolerance 0 --json --record record.json");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(nlohmann::json::parse(ended.out),
            nlohmann::json::parse(*read_file(folder / "record.json")));
  EXPECT_TRUE(ended.err.empty()) << "no progress line in a pipe";
}

TEST_F(CommandLine, QuietPrintsNothingAndTheSummarySaysHowItEnded) {
  good_data();
  const Ended quiet = grove("train good.svm --rounds 4 --quiet");
  EXPECT_EQ(quiet.code, 0);
  EXPECT_EQ(quiet.out + quiet.err, "");
  EXPECT_NE(grove("train good.svm --rounds 4").out.find("label -1 is class 0"), std::string::npos);
}

// 1 separates class 1 (x = 1) from class 0 (x = 0): w = 2, b = -1 by hand gives margins 1 and -1.
TEST_F(CommandLine, PredictsWithTheModelItIsGiven) {
  const Model model{.version = "test",
                    .loss = LogisticLoss{},
                    .coefficients = Vector::Constant(1, 2),
                    .intercept = -1,
                    .labels = LabelNames{3, 8}};
  file("model.json", to_json(model).dump());
  file("test.svm", "8 1:1\n3 \n8 1:1\n8\n");
  const Ended ended = grove("predict model.json test.svm");
  ASSERT_EQ(ended.code, 0) << ended.err;
  // By hand: 1 / (1 + e^-1) = 0.7310585786300049 and 1 / (1 + e) = 0.2689414213699951.
  EXPECT_TRUE(ended.out.starts_with("predicted_label,probability_of_8\n8,0.73105857863000"))
      << ended.out;
  EXPECT_NE(ended.out.find("\n3,0.26894142136999"), std::string::npos) << ended.out;
  EXPECT_NE(ended.err.find("accuracy  0.75"), std::string::npos) << ended.err;
  file("wide.svm", "8 1:1 2:1\n3 1:1\n");  // as a training set may lack the last features
  const Ended wide = grove("predict model.json wide.svm");
  EXPECT_EQ(wide.code, 0);
  EXPECT_NE(wide.err.find("2 features"), std::string::npos) << wide.err;
  file("huge.svm", "8 1:1e308 \n3 1:-1e308\n");
  const Ended huge = grove("predict model.json huge.svm");
  EXPECT_EQ(huge.code, 2);
  EXPECT_NE(huge.err.find("huge.svm: the values are so large"), std::string::npos) << huge.err;
  EXPECT_EQ(grove("predict test.svm test.svm").code, 2);
  EXPECT_EQ(grove("predict model.json").code, 2);
}

TEST_F(CommandLine, ModelsCanBeTrainedWrittenAndUsed) {
  const Ended trained = grove(
      "train synthetic:ijcnn-like,samples=1000 --agents 5 --l1 1e-4 --intercept --rounds 50 "
      "--model "
      "m.json --plot p.svg");
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_TRUE(fs::exists(folder / "p.svg"));
  const Ended predicted = grove("predict m.json synthetic:ijcnn-like,samples=1000 --out p.txt");
  ASSERT_EQ(predicted.code, 0) << predicted.err;
  EXPECT_NE(predicted.out.find("AUC"), std::string::npos);
}

// By hand: price = 2 size + 1 exactly, so that any mix-up of columns shows.
TEST_F(CommandLine, PredictsCsvByTheColumnsTheModelWasTrainedOn) {
  file("train.csv", "price,size\n1,0\n3,1\n5,2\n7,3\n9,4\n11,5\n");
  const Ended trained = grove(
      "train train.csv --loss squared --intercept --agents 2 --label-column price "
      "--tolerance 1e-12 --model m.json");
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.out.find("target column `price`"), std::string::npos) << trained.out;
  file("later.csv", "id,size,price\nx1,10,21\nx2,20,41\n");
  const Ended predicted = grove("predict m.json later.csv --json");
  ASSERT_EQ(predicted.code, 0) << predicted.err;
  const auto json = nlohmann::json::parse(predicted.out);
  EXPECT_NEAR(json.at("margins").at(0).get<double>(), 21, 1e-6);
  EXPECT_NEAR(json.at("margins").at(1).get<double>(), 41, 1e-6);
  EXPECT_LT(json.at("scores").at("rmse").get<double>(), 1e-6);
  EXPECT_TRUE(grove("predict m.json later.csv").out.starts_with("predicted_value\n"));
  file("other.csv", "id,length,price\n1,10,21\n");
  const Ended other = grove("predict m.json other.csv");
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("other.csv:1: expected the model"), std::string::npos) << other.err;
}

TEST_F(CommandLine, TrainsAndPredictsLabelsThatAreWords) {
  file("pets.csv", "weight,pet\n4,cat\n5,cat\n3,cat\n20,dog\n30,dog\n25,dog\n");
  const Ended trained =
      grove("train pets.csv --intercept --l2 1e-3 --agents 2 --model m.json --record r.json");
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.out.find("label cat is class 0 and dog is class 1"), std::string::npos)
      << trained.out;
  EXPECT_EQ(nlohmann::json::parse(*read_file(folder / "m.json")).at("labels").at("positive"),
            "dog");
  EXPECT_EQ(nlohmann::json::parse(*read_file(folder / "r.json"))
                .at("problem")
                .at("labels")
                .at("negative"),
            "cat");
  file("new.csv", "pet,weight\ndog,28\ncat,4\n");
  const Ended predicted = grove("predict m.json new.csv");
  ASSERT_EQ(predicted.code, 0) << predicted.err;
  EXPECT_TRUE(predicted.out.starts_with("predicted_label,probability_of_dog\ndog,"))
      << predicted.out;
  EXPECT_NE(predicted.out.find("\ncat,"), std::string::npos) << predicted.out;
  const auto json = nlohmann::json::parse(grove("predict m.json new.csv --json").out);
  EXPECT_EQ(json.at("labels").at("positive"), "dog");
  EXPECT_GT(json.at("probabilities_of_positive").at(0).get<double>(), 0.5);
  EXPECT_LT(json.at("probabilities_of_positive").at(1).get<double>(), 0.5);
  EXPECT_NE(predicted.err.find("accuracy  1\n"), std::string::npos) << predicted.err;
  file("fish.csv", "pet,weight\nfish,1\n");
  EXPECT_NE(grove("predict m.json fish.csv").err.find("not the model's"), std::string::npos);
}

TEST_F(CommandLine, NeverReplacesWhatItReads) {
  good_data();
  EXPECT_EQ(grove("train good.svm --record good.svm").code, 2);
  expect_refused("train good.svm --data other.svm", {"--data", "twice"});
  ASSERT_EQ(grove("train good.svm --rounds 2 --model m.json").code, 0);
  EXPECT_EQ(grove("predict m.json good.svm --out m.json").code, 2);
  EXPECT_EQ(grove("predict m.json good.svm").code, 0) << "model and data are still there";
}

TEST_F(CommandLine, FileNamesNeedNotBeUtf8) {
  good_data();
  fs::copy_file(folder / "good.svm", folder / "bad\xff.svm");
  const Ended ended = grove("train bad\xff.svm --rounds 2 --record r.json --model m.json");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(fs::exists(folder / "r.json") && fs::exists(folder / "m.json"));
}

TEST_F(CommandLine, CheckpointsThatCannotBeWrittenAreRefusedBeforeTheFirstRound) {
  good_data();
  file("taken", "");
  expect_refused("train good.svm --rounds 2 --checkpoint taken", {"--checkpoint", "taken"});
  const Ended compared = grove(
      "compare good.svm --methods nids,p2d2 --rounds 4 --checkpoint kept --checkpoint-every 2");
  EXPECT_EQ(compared.code, 0) << compared.err;
  EXPECT_TRUE(fs::exists(folder / "kept" / "nids") && fs::exists(folder / "kept" / "p2d2"));
}

TEST_F(CommandLine, ShowsItsProgressOnATerminal) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(::grantpt(terminal) | ::unlockpt(terminal), 0);
  const std::string name = ::ptsname(terminal);
  const int kept_open = ::open(name.c_str(), O_RDWR | O_NOCTTY);  // or its output may be dropped
  const std::string command =
      GROVE_PROGRAM " train synthetic:ijcnn-like --rounds 2 --tolerance 0 >/dev/null 2>" + name;
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::array<char, 4096> text{};
  const ssize_t got = ::read(terminal, text.data(), text.size());
  const std::string shown(text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  EXPECT_NE(shown.find("train: round 0 of 2, stationarity "), std::string::npos) << shown;
  EXPECT_NE(shown.find("consensus error 0.0e+00"), std::string::npos) << shown;
  ::close(kept_open);
  ::close(terminal);
}

TEST_F(CommandLine, ADivergedRunExitsWithThreeAndSaysWhy) {
  const Ended ended = grove(
      "train synthetic:gaussian,samples=300,features=5 --agents 5 --method nids --step 1e6 "
      "--rounds 2000 --loss squared --record r.json --model m.json");
  EXPECT_EQ(ended.code, 3) << ended.out << ended.err;
  EXPECT_NE(ended.err.find("--step"), std::string::npos) << ended.err;
  EXPECT_TRUE(record_from_json(nlohmann::json::parse(*read_file(folder / "r.json"))));
  EXPECT_FALSE(fs::exists(folder / "m.json"));
}

/// The program as a child, so that it can be sent the signal Ctrl-C sends.
pid_t start_grove(std::vector<std::string> arguments) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  arguments.insert(arguments.begin(), "grove");
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  ::execv(GROVE_PROGRAM, words.data());
  ::_exit(127);
}

/// 130 is how shells report a program that Ctrl-C ended.
int exit_code_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(CommandLine, AnInterruptEndsTheRunCleanlyWithItsRecord) {
  const std::string record_path = (folder / "r.json").string();
  const fs::path state = folder / "state";
  const pid_t child = start_grove({"train", "--rounds", "100000000", "--tolerance", "0", "--quiet",
                                   "--no-reference", "--record", record_path, "--checkpoint",
                                   state.string(), "--checkpoint-every", "1"});
  ASSERT_GT(child, 0);
  while (!fs::exists(state / "checkpoint.grove")) std::this_thread::yield();  // it trains
  ::kill(child, SIGINT);
  EXPECT_EQ(exit_code_of(child), 130);
  const auto record = record_from_json(nlohmann::json::parse(*read_file(record_path)));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->outcome.status, RunStatus::interrupted);
  EXPECT_EQ(record->trace.back().round, record->outcome.rounds);
  EXPECT_EQ(record->nonzeros, static_cast<std::uint64_t>((record->solution.array() != 0).count()));
}

// A pipe that nobody writes to stands for data that takes long to read.
TEST_F(CommandLine, AnInterruptWhileReadingEndsAtOnceAndWritesNothing) {
  const std::string pipe = (folder / "pipe.svm").string();
  const std::string record_path = (folder / "r.json").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const pid_t child = start_grove({"train", pipe, "--record", record_path});
  ASSERT_GT(child, 0);
  while (!catches_interrupts(child)) std::this_thread::yield();
  ::kill(child, SIGINT);
  EXPECT_EQ(exit_code_of(child), 130);
  EXPECT_FALSE(fs::exists(record_path));
}

// Labels are not there to be predicted: rows may lack them, in predict alone.
TEST_F(CommandLine, PredictsRowsWithoutLabels) {
  good_data();
  file("unlabelled.svm", "1:0.5 2:-1\n2:0.25 # a comment\n1:1\n");
  ASSERT_EQ(grove("train good.svm --model m.json --quiet --agents 2 --l2 0.1").code, 0);
  const Ended ended = grove("predict m.json unlabelled.svm --out p.txt");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("no labels"), std::string::npos) << ended.out;
  EXPECT_EQ(std::ranges::count(*read_file(folder / "p.txt"), '\n'), 1 + 3) << "a header and rows";
  file("mixed.svm", "1 1:0.5\n-1 2:1\n1:0.5\n");
  expect_refused("train mixed.svm", {"mixed.svm:3", "label"});
  file("broken.svm", "1:0.5\n1:x\n");
  const Ended broken = grove("predict m.json broken.svm --out never.txt");
  EXPECT_EQ(broken.code, 2);
  EXPECT_NE(broken.err.find("broken.svm:2"), std::string::npos) << broken.err;
  EXPECT_FALSE(fs::exists(folder / "never.txt"));
}

TEST_F(CommandLine, ListsKnownDataAndGetsItFromAMirror) {
  EXPECT_NE(grove("data list").out.find("ijcnn1"), std::string::npos);
  EXPECT_EQ(grove("data get ijcn1").code, 2);
  EXPECT_EQ(grove("data get").code, 2);
  EXPECT_EQ(grove("data get ijcnn1 --url file:///nowhere/ijcnn1.bz2").code, 2);
  const char* given = std::getenv("GROVE_DATA_DIR");
  const fs::path source = fs::absolute(given ? given : "../shared/data") / "ijcnn1.bz2";
  if (!fs::exists(source)) GTEST_SKIP() << source << " is not there: set GROVE_DATA_DIR";
  const Ended ended = grove("data get ijcnn1 --out got --url file://" + source.string());
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(fs::file_size(folder / "got" / "ijcnn1.bz2"), fs::file_size(source));
}

// The program alone trains; where a command needs a plug-in, the error says how to get it.
TEST_F(CommandLine, WithoutPluginsBesideItSaysWhatToInstallAndBuild) {
  fs::copy_file(GROVE_PROGRAM, folder / "grove");
  good_data();
  file("cluster.toml", "runtime = \"mpi\"\n");
  const auto alone = [&](const std::string& arguments) {
    const int status = std::system(
        ("cd '" + folder.string() + "' && ./grove " + arguments + " >out.txt 2>err.txt </dev/null")
            .c_str());
    return Ended{WIFEXITED(status) ? WEXITSTATUS(status) : -1, *read_file(folder / "out.txt"),
                 *read_file(folder / "err.txt")};
  };
  EXPECT_EQ(alone("train good.svm --rounds 4").code, 0);
  for (const char* needs_it :
       {"data list", "peer run", "network init --agents 3", "theory", "reproduce --quick",
        "peer --help", "train good.svm --runtime mpi", "train good.svm --runtime=mpi",
        "train good.svm --config cluster.toml"}) {
    const Ended ended = alone(needs_it);
    EXPECT_EQ(ended.code, 2) << needs_it;
    EXPECT_NE(ended.err.find("this build has no "), std::string::npos) << needs_it << ended.err;
    EXPECT_NE(ended.err.find("./run"), std::string::npos) << needs_it << ": " << ended.err;
  }
}

TEST_F(CommandLine, HelpAndVersionSucceed) {
  EXPECT_EQ(grove("--version").code, 0);
  const Ended help = grove("train --help");
  EXPECT_EQ(help.code, 0);
  for (const char* flag : {"--penalty", "--work", "--participation", "--local-model", "--config"})
    EXPECT_NE(help.out.find(flag), std::string::npos) << flag;
}

}  // namespace
}  // namespace grove
