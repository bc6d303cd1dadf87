// grove compare and grove plot as a user meets them: which methods run, what is searched, and the
// figures and tables that come of it. Runs the built program.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/command_line.h"

namespace grove {
namespace {

class Compare : public CommandLine {
 protected:
  const std::string problem =
      "synthetic:gaussian,samples=300,features=5 --agents 5 --l2 0.1 --rounds 60 ";

  static std::size_t lines_of(const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
  }
};

TEST_F(Compare, ComparesMethodsOnOneProblem) {
  const Ended ended = grove(
      "compare synthetic:gaussian,samples=300,features=5 --agents 5 --l2 0.1 --rounds 30 "
      "--methods druid-vl,nids --plot c.png --json");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const auto runs = nlohmann::json::parse(ended.out).at("runs");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].at("record").at("reference"), runs[1].at("record").at("reference"));
  EXPECT_EQ(read_file(folder / "c.png")->substr(1, 3), "PNG");
  EXPECT_EQ(grove("compare --methods druid-vl,nope").code, 2);
}

// Gossip methods have no edge links.
TEST_F(Compare, NamesTheMethodsThatOptionsExclude) {
  const Ended ended = grove("compare " + problem + "--link edge --json");
  ASSERT_EQ(ended.code, 0) << ended.err;
  for (const char* name : {"pg-extra", "p2d2", "nids"})
    EXPECT_NE(ended.err.find(std::string("note: ") + name + ": left out: --link"),
              std::string::npos)
        << ended.err;
  const auto json = nlohmann::json::parse(ended.out);
  EXPECT_EQ(json.at("left_out").size(), 3u);
  EXPECT_EQ(json.at("left_out")[0].at("method"), "pg-extra");
  EXPECT_EQ(grove("compare " + problem + "--link edge --quiet").err, "");
  EXPECT_FALSE(
      nlohmann::json::parse(grove("compare " + problem + "--json").out).contains("left_out"));
}

TEST_F(Compare, TuningGivesEveryMethodTheSameTrialsAndKeepsTheBest) {
  const std::string compare = "compare " + problem + "--methods druid-vl,druid-gd,pg-extra,nids ";
  const Ended ended = grove(compare + "--tune --record tuned.json");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("tuning: 7 trials per method on seed 1, of at most 60 rounds"),
            std::string::npos)
      << ended.out;
  const auto json = nlohmann::json::parse(*read_file(folder / "tuned.json"));
  const auto plain = nlohmann::json::parse(grove(compare + "--json").out);
  ASSERT_EQ(json.at("tuning").size(), 4u);
  for (std::size_t k = 0; k < 4; ++k) {
    const auto& tuning = json.at("tuning")[k];
    EXPECT_EQ(tuning.at("trials").size(), 7u);
    // The oracle is the list of trials itself: no trial that converged took fewer rounds.
    const auto& outcome = json.at("runs")[k].at("record").at("outcome");
    for (const auto& trial : tuning.at("trials"))
      if (trial.at("status") == "converged") {
        EXPECT_EQ(outcome.at("status"), "converged");
        EXPECT_LE(outcome.at("rounds"), trial.at("rounds")) << tuning.at("method");
      }
    // The first trial is the method as it is without tuning.
    EXPECT_EQ(tuning.at("trials")[0].at("rounds"),
              plain.at("runs")[k].at("record").at("outcome").at("rounds"));
    const std::string chosen =
        tuning.at("option").get<std::string>() + " " + tuning.at("chosen").get<std::string>();
    EXPECT_NE(ended.out.find(chosen + "\n"), std::string::npos) << chosen << "\n" << ended.out;
  }
  EXPECT_EQ(json.at("tuning")[3].at("option"), "step");
}

TEST_F(Compare, SeedsAreRunsOfTheirOwnShownByMedians) {
  const Ended ended =
      grove("compare " + problem +
            "--methods druid-vl,nids --seed 4 --seeds 3 --record r.json --plot p.csv "
            "--csv trace.csv");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("medians over 3 seeds"), std::string::npos) << ended.out;
  const auto runs = nlohmann::json::parse(*read_file(folder / "r.json")).at("runs");
  ASSERT_EQ(runs.size(), 6u);
  for (std::size_t k = 0; k < 6; ++k)
    EXPECT_EQ(runs[k].at("record").at("config").at("seed"), 4 + k % 3);
  // A seed of three is the run that this seed gives alone.
  const auto alone =
      nlohmann::json::parse(grove("train " + problem + "--method nids --seed 5 --json").out);
  EXPECT_EQ(alone.at("solution"), runs[4].at("record").at("solution"));
  EXPECT_NE(read_file(folder / "p.csv")->find("\nnids,"), std::string::npos);
  std::size_t measured = 0;
  for (const auto& run : runs) measured += run.at("record").at("trace").size();
  EXPECT_EQ(lines_of(*read_file(folder / "trace.csv")), 1 + measured);
}

TEST_F(Compare, FiguresAreWrittenByTheEndingOfTheirName) {
  for (const auto& [name, begin] : {std::pair<std::string, std::string>{"f.svg", "<?xml"},
                                    {"f.png", "\x89PNG"},
                                    {"f.pdf", "%PDF-"},
                                    {"f.csv", "curve,x,"}}) {
    const Ended ended =
        grove("compare " + problem + "--methods druid-vl,nids --x bytes --plot " + name);
    ASSERT_EQ(ended.code, 0) << ended.err;
    EXPECT_TRUE(read_file(folder / name)->starts_with(begin)) << name;
  }
}

TEST_F(Compare, RecordsAreDrawnAgainTogether) {
  ASSERT_EQ(grove("train " + problem + "--record Größe.json").code, 0);
  ASSERT_EQ(grove("compare " + problem + "--methods nids,p2d2 --seeds 2 --record c.json").code, 0);
  const Ended ended = grove("plot Größe.json c.json --x gradients --plot both.svg --csv both.csv");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "both.svg\nboth.csv\n");
  const std::string picture = *read_file(folder / "both.svg");
  for (const char* part : {"Größe", "nids", "p2d2", "gradients of single samples"})
    EXPECT_NE(picture.find(part), std::string::npos) << part;
  ASSERT_EQ(grove("plot Größe.json Größe.json").code, 0);
  EXPECT_NE(read_file(folder / "convergence.svg")->find("Größe (2)"), std::string::npos)
      << "the default name of the file, and a name for every curve";
}

TEST_F(Compare, PlotRefusesFilesThatAreNoRecords) {
  good_data();
  EXPECT_EQ(grove("plot").code, 2);
  for (const auto& [name, content] : {std::pair<std::string, std::string>{"text.json", "hello"},
                                      {"other.json", R"({"format": "grove-model/1"})"},
                                      {"damaged.json", R"({"format": "grove-compare/1"})"}}) {
    file(name, content);
    const Ended ended = grove("plot " + name);
    EXPECT_EQ(ended.code, 2) << name;
    EXPECT_TRUE(ended.err.starts_with("grove: " + name + ": ")) << ended.err;
    EXPECT_FALSE(fs::exists(folder / "convergence.svg"));
  }
  file("kept.json", "{}");
  EXPECT_EQ(grove("plot kept.json --csv kept.csv --plot kept.json").code, 2);
}

// The names stand in the data: a column, a label, a file.
TEST_F(Compare, Utf8IsShownAsItIsAndControlCharactersAreNot) {
  file("größe.csv", "höhe,art\n1,чай\n2,чай\n3,кофе\n4,кофе\n1.5,чай\n3.5,кофе\n");
  const Ended trained = grove("train größe.csv --agents 2 --l2 0.1 --model m.json");
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.out.find("target column `art`, label кофе is class 0 and чай is class 1"),
            std::string::npos)
      << trained.out;
  const Ended predicted = grove("predict m.json größe.csv");
  EXPECT_TRUE(predicted.out.starts_with("predicted_label,probability_of_чай\n")) << predicted.out;
  EXPECT_NE(grove("train größe.csv --label-column länge").err.find("länge"), std::string::npos);
  file("bad.svm", "1 1:0.5\n-1 größe:2\n");
  EXPECT_NE(grove("train bad.svm").err.find("größe"), std::string::npos);
  file("red.svm", "1 1:0.5\n-1 \033[31mred:2\n");
  const std::string red = grove("train red.svm").err;
  EXPECT_EQ(red.find('\033'), std::string::npos) << red;
  EXPECT_NE(red.find("?[31mred"), std::string::npos) << red;
  const std::string name = grove("train \"$(printf 'no\\033[31mfile.svm')\"").err;
  EXPECT_EQ(name.find('\033'), std::string::npos) << name;
  EXPECT_NE(name.find("no?[31mfile.svm"), std::string::npos) << name;
}

}  // namespace
}  // namespace grove
