#include "grove/setup/config.h"

#include <filesystem>
#include <fstream>
#include <functional>

#include <gtest/gtest.h>

#include "grove/setup/config_file.h"

namespace grove {
namespace {

std::filesystem::path write_toml(const std::string& text) {
  const auto name = std::string("grove-config-test-") +
                    testing::UnitTest::GetInstance()->current_test_info()->name() + ".toml";
  const auto path = std::filesystem::path(testing::TempDir()) / name;
  std::ofstream(path) << text;
  return path;
}

Result<OptionPlaces> read_toml(const std::string& text, Config& config,
                               const std::set<std::string>& skip = {}) {
  return read_config_file(write_toml(text), options_of(config), skip);
}

/// The error of a TOML text, without the folder.
std::string toml_error(const std::string& text) {
  Config config;
  const auto places = read_toml(text, config);
  if (places) return "";
  const std::string message = places.error().text();
  return message.substr(message.find(".toml"));
}

std::string flag_error(const std::string& name, const std::string& value) {
  Config config;
  const auto options = options_of(config);
  const Status status = set_option(*find_option(options, name), value);
  return status ? "" : status.error().text();
}

TEST(Options, AreTheNamesOfTheInterfaceEachOnce) {
  Config config;
  std::vector<std::string> names;
  for (const Option& option : options_of(config)) {
    names.push_back(option.name);
    EXPECT_FALSE(option.help.empty()) << option.name;
  }
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  for (const char* name : {"agents",
                           "samples",
                           "seed",
                           "partition",
                           "graph",
                           "loss",
                           "l1",
                           "l2",
                           "weighting",
                           "intercept",
                           "method",
                           "penalty",
                           "theta-penalty",
                           "prox",
                           "step",
                           "work",
                           "participation",
                           "link",
                           "loss-rate",
                           "delay",
                           "local-model",
                           "sampling",
                           "batch-gradient",
                           "batch-hessian",
                           "rounds",
                           "tolerance",
                           "no-reference",
                           "keep-estimates",
                           "runtime",
                           "threads"})
    EXPECT_TRUE(std::ranges::binary_search(names, name)) << name;
}

TEST(Options, DefaultsAreThoseOfTheInterface) {
  Config config;
  const auto json = to_json(options_of(config));
  EXPECT_EQ(json["data"], "synthetic:ijcnn-like");
  EXPECT_EQ(json["agents"], 10);
  EXPECT_EQ(json["samples"], 0);
  EXPECT_EQ(json["seed"], 1);
  EXPECT_EQ(json["partition"], "even");
  EXPECT_EQ(json["loss"], "logistic");
  EXPECT_EQ(json["weighting"], "agent");
  EXPECT_EQ(json["method"], "druid-vl");
  EXPECT_EQ(json["work"], "auto");
  EXPECT_EQ(json["link"], "broadcast");
  EXPECT_EQ(json["local-model"], "augmented");
  EXPECT_EQ(json["sampling"], "full");
  EXPECT_EQ(json["rounds"], 500);
  EXPECT_EQ(json["tolerance"], 1e-6);
  EXPECT_EQ(json["constraint"], "none");
}

TEST(Options, ValuesReadBackAsTheyWereGiven) {
  const std::vector<std::pair<std::string, std::string>> given{
      {"loss", "huber:2.5"},     {"constraint", "box:-1:0.5"}, {"method", "exact-admm"},
      {"link", "edge"},          {"weighting", "sample"},      {"local-model", "linearized"},
      {"sampling", "minibatch"}, {"partition", "stride"},      {"graph", "ring"}};
  Config config;
  const auto options = options_of(config);
  for (const auto& [name, value] : given) {
    ASSERT_TRUE(set_option(*find_option(options, name), value)) << name;
    EXPECT_EQ(find_option(options, name)->get(), value);
  }
  EXPECT_EQ(std::get<HuberLoss>(config.loss).delta, 2.5);
  EXPECT_EQ(config.constraint.low, -1);
  EXPECT_EQ(config.constraint.high, 0.5);
  EXPECT_EQ(config.method, Method::exact_admm);
  ASSERT_TRUE(set_option(*find_option(options, "constraint"), "nonnegative"));
  EXPECT_EQ(config.constraint.low, 0);
  EXPECT_TRUE(std::isinf(config.constraint.high));
}

TEST(Options, EveryMethodNameIsUnderstood) {
  Config config;
  const auto options = options_of(config);
  for (const char* name : {"druid-vl", "druid-newton", "druid-gd", "druid-bfgs", "exact-admm",
                           "pg-extra", "p2d2", "nids"}) {
    ASSERT_TRUE(set_option(*find_option(options, "method"), name)) << name;
    EXPECT_EQ(config.method.name(), name);
  }
}

TEST(Options, ValuesOutOfRangeAreRefusedWithTheFlagAndTheRange) {
  EXPECT_EQ(flag_error("penalty", "-1"),
            "--penalty: '-1' is not possible; expected a number above 0, auto, scalar, diagonal, "
            "low-rank:K with K above 0, full or sparse");
  EXPECT_EQ(flag_error("l1", "-0.1"),
            "--l1: '-0.1' is not possible; expected a number of at least 0");
  EXPECT_EQ(flag_error("loss-rate", "1"),
            "--loss-rate: '1' is not possible; expected a number of at least 0 and below 1");
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"penalty", "0"},
                                                        {"penalty", "nan"},
                                                        {"penalty", "inf"},
                                                        {"penalty", "1e-3x"},
                                                        {"penalty", ""},
                                                        {"theta-penalty", "0"},
                                                        {"prox", "-1"},
                                                        {"step", "0"},
                                                        {"l2", "-1"},
                                                        {"agents", "0"},
                                                        {"agents", "-3"},
                                                        {"agents", "2.5"},
                                                        {"agents", "2000000"},
                                                        {"batch-gradient", "0"},
                                                        {"batch-hessian", "0"},
                                                        {"rounds", "-1"},
                                                        {"tolerance", "-1"},
                                                        {"delay", "-1"},
                                                        {"measure-every", "-1"},
                                                        {"checkpoint-every", "0"},
                                                        {"slow-rank", "1"},
                                                        {"slow-rank", "-1:2"},
                                                        {"slow-rank", "0:0.5"},
                                                        {"seed", "-1"},
                                                        {"intercept", "maybe"},
                                                        {"loss", "hinge"},
                                                        {"loss", "huber:0"},
                                                        {"loss", "huber:x"},
                                                        {"constraint", "box:1:1"},
                                                        {"constraint", "box:1"},
                                                        {"constraint", "box:a:b"},
                                                        {"method", "druid"},
                                                        {"link", "wire"},
                                                        {"graph", ""},
                                                        {"exact-tolerance", "0"},
                                                        {"runtime", "cloud"}}) {
    const std::string error = flag_error(name, value);
    EXPECT_TRUE(error.starts_with("--" + name + ": ")) << name << " " << value << ": " << error;
    EXPECT_NE(error.find("expected"), std::string::npos) << error;
  }
}

TEST(ConfigFile, KeysAreTheFlagsNamesAndListsBecomeCommas) {
  Config config;
  const auto status = read_toml(
      "agents = 3\n"
      "penalty = 0.25   # a comment\n"
      "intercept = true\n"
      "method = \"druid-newton\"\n"
      "l1 = 1\n"
      "work = [1, 2, 30]\n"
      "participation = [0.5, 1, 0.125]\n",
      config);
  ASSERT_TRUE(status) << status.error().text();
  EXPECT_EQ(config.agents, 3u);
  EXPECT_EQ(config.penalty, 0.25);
  EXPECT_TRUE(config.intercept);
  EXPECT_EQ(config.method, Method::druid_newton);
  EXPECT_EQ(config.l1, 1);
  EXPECT_EQ(config.work, "1,2,30");
  EXPECT_EQ(config.participation, "0.5,1,0.125");
}

TEST(ConfigFile, FlagsWin) {
  Config config;
  config.penalty = 7;
  ASSERT_TRUE(read_toml("penalty = 0.25\nrounds = 3\n", config, {"penalty"}));
  EXPECT_EQ(config.penalty, 7);
  EXPECT_EQ(config.rounds, 3u);
}

TEST(ConfigFile, TheFirstMistakeInTheFileIsReportedWhateverTheNames) {
  EXPECT_EQ(toml_error("zebra_crossing = 1\nagents = 0\n"),
            ".toml:1: unknown key 'zebra_crossing'");
}

TEST(ConfigFile, AnUnknownKeyIsNamedWithItsLineAndTheClosestKnownOne) {
  EXPECT_EQ(toml_error("agents = 3\n\npenalti = 0.1\n"),
            ".toml:3: unknown key 'penalti'; did you mean penalty?");
  EXPECT_EQ(toml_error("zebra_crossing = 1\n"), ".toml:1: unknown key 'zebra_crossing'");
}

TEST(ConfigFile, AnEmptyTableIsAnUnknownKey) {
  EXPECT_EQ(toml_error("seed = 1\n[zebra_crossing]\n"), ".toml:2: unknown key 'zebra_crossing'");
}

TEST(ConfigFile, ABadValueIsNamedWithItsLineAndTheExpectedRange) {
  EXPECT_EQ(toml_error("\npenalty = -2\n"),
            ".toml:2: penalty: '-2' is not possible; expected a number above 0, auto, scalar, "
            "diagonal, low-rank:K with K above 0, full or sparse");
  EXPECT_TRUE(toml_error("agents = 2.5\n").starts_with(".toml:1: agents: "));
  EXPECT_TRUE(toml_error("penalty = \"much\"\n").starts_with(".toml:1: penalty: "));
  EXPECT_EQ(toml_error("[penalty]\nz = 1\n"),
            ".toml:2: unknown key 'penalty.z'; did you mean penalty?");
  EXPECT_TRUE(toml_error("work = [[1, 2], [3]]\n").starts_with(".toml:1: work: expected a value"));
}

TEST(ConfigFile, ATextThatIsNotTomlIsNamedWithItsLine) {
  EXPECT_TRUE(toml_error("agents = 3\npenalty 0.1\n").starts_with(".toml:2: is not TOML: "));
  Config config;
  const auto missing = read_config_file("no/such/file.toml", options_of(config));
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().text().find("no/such/file.toml"), std::string::npos);
}

// An error that only several settings together, or the data, can show still has a line.
TEST(ConfigFile, ErrorsFoundLaterNameTheLineThatSetTheOption) {
  Config config;
  const auto places = read_toml("\nagents = 4\nwork = '1,2,3'\nl1 = 1\n", config, {"l1"});
  ASSERT_TRUE(places);
  const std::string text = located(check(config).error(), *places).text();
  EXPECT_NE(text.find(".toml:3: work: "), std::string::npos) << text;
  EXPECT_EQ(located({"--l1", "wrong"}, *places).text(), "--l1: wrong") << "a flag set it";
  EXPECT_EQ(located({"data.svm:7", "wrong"}, *places).text(), "data.svm:7: wrong");
}

/// Where check() finds fault with the defaults after a change.
std::string check_error(const std::function<void(Config&)>& change) {
  Config config;
  change(config);
  const Status status = check(config);
  return status ? "" : status.error().where;
}

TEST(Check, TheDefaultsAreFine) {
  EXPECT_EQ(check_error([](Config&) {}), "");
}

TEST(Check, BroadcastLinksCannotBearFaults) {
  EXPECT_EQ(check_error([](Config& c) { c.loss_rate = 0.1; }), "--loss-rate");
  EXPECT_EQ(check_error([](Config& c) { c.delay = 1; }), "--delay");
  EXPECT_EQ(check_error([](Config& c) { c.link = LinkKind::edge, c.loss_rate = 0.1, c.delay = 1; }),
            "");
}

TEST(Check, SynchronousMethodsRefusePartialParticipationAndEdgeLinks) {
  for (const Method method : {Method::pg_extra, Method::p2d2, Method::nids}) {
    EXPECT_EQ(check_error([&](Config& c) { c.method = method; }), "");
    EXPECT_EQ(check_error([&](Config& c) { c.method = method, c.participation = "0.5"; }),
              "--participation");
    EXPECT_EQ(check_error([&](Config& c) { c.method = method, c.link = LinkKind::edge; }),
              "--link");
  }
  EXPECT_EQ(check_error([](Config& c) {
              c.agents = 2, c.method = Method::nids, c.participation = "1,0.9";
            }),
            "--participation");
  for (const Method method : {Method::druid_vl, Method::druid_newton, Method::druid_gd,
                              Method::druid_bfgs, Method::exact_admm})
    EXPECT_EQ(check_error([&](Config& c) {
                c.method = method, c.participation = "0.5", c.link = LinkKind::edge;
              }),
              "");
}

TEST(Check, ExactAdmmHasNoLinearizedModel) {
  EXPECT_EQ(check_error([](Config& c) {
              c.method = Method::exact_admm, c.local_model = LocalModelKind::linearized;
            }),
            "--local-model");
}

TEST(Check, TheRegularizerIsAppliedByAnAgentThatExists) {
  EXPECT_EQ(check_error([](Config& c) { c.agents = 3, c.regularizer_agent = 2; }), "");
  EXPECT_EQ(check_error([](Config& c) { c.agents = 3, c.regularizer_agent = 3; }),
            "--regularizer-agent");
}

TEST(Check, WorkLoadsAndParticipationMustFitTheAgents) {
  EXPECT_EQ(check_error([](Config& c) { c.agents = 3, c.work = "1,2"; }), "--work");
  EXPECT_EQ(check_error([](Config& c) { c.work = "0"; }), "--work");
  EXPECT_EQ(check_error([](Config& c) { c.agents = 3, c.participation = "1,1"; }),
            "--participation");
  EXPECT_EQ(check_error([](Config& c) { c.participation = "0"; }), "--participation");
  EXPECT_EQ(check_error([](Config& c) { c.participation = "1.5"; }), "--participation");
}

}  // namespace
}  // namespace grove
