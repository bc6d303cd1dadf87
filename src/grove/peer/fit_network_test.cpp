// Peers on loopback with TLS that fit a formula, as threads of this process.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "grove/base/file.h"
#include "grove/base/random.h"
#include "grove/peer/layout.h"
#include "grove/peer/peer.h"
#include "grove/peer/peer_config.h"
#include "grove/peer/test_folder.h"
#include "grove/peer/test_log.h"
#include "grove/peer/test_wait.h"

namespace grove::peer {
namespace {

namespace fs = std::filesystem;

class LiveFit {
 public:
  explicit LiveFit(PeerConfig config)
      : hooks_{.log = logger_to(log_), .interrupted = [this] { return stop_.load(); }},
        thread_([this, given = std::move(config)] {
          result_.emplace(run_peer(given, hooks_));
          ended_ = true;
        }) {}
  ~LiveFit() { kill(); }
  void kill() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  /// Its outcome, or its error.
  std::string outcome() {
    EXPECT_TRUE(eventually([&] { return ended_.load(); })) << log_->text();
    kill();
    return *result_ ? std::string(name_of((*result_)->outcome)) : result_->error().text();
  }
  std::string rule() const { return (*result_)->rule; }
  bool logged(const std::string& text) { return log_->has(text); }

 private:
  std::atomic<bool> stop_ = false, ended_ = false;
  std::shared_ptr<TestLog> log_ = std::make_shared<TestLog>();
  PeerHooks hooks_;
  std::optional<Result<PeerEnd>> result_;
  std::thread thread_;
};

/// y is 0 or 1 with log odds linear in x, and p a factor of three levels.
std::vector<std::string> rows_of(std::size_t count) {
  KeyedRandom random({.seed = 5, .purpose = Purpose::synthetic});
  std::vector<std::string> rows;
  for (std::size_t k = 0; k < count; ++k) {
    const double x = 50 + 10 * random.normal();
    const int p = static_cast<int>(3 * random.uniform());
    const double eta = 0.05 * (x - 50) + 0.5 * p - 0.5;
    rows.push_back(fmt::format(
        "{},{:.4f},{}\n", random.uniform() < 1 / (1 + std::exp(-eta)) ? "yes" : "no", x, "abc"[p]));
  }
  return rows;
}

std::string table_of(const std::vector<std::string>& rows, std::size_t first, std::size_t last,
                     const std::string& header = "y,x,p\n") {
  std::string text = header;
  for (std::size_t k = first; k < last; ++k) text += rows[k];
  return text;
}

std::vector<std::string> usual_tables() {
  const auto rows = rows_of(150);
  return {table_of(rows, 0, 40), table_of(rows, 40, 100), table_of(rows, 100, 150)};
}

class FitNetwork {
 public:
  /// The layout is made from usual tables, so that the peers themselves meet what is wrong.
  explicit FitNetwork(const std::vector<std::string>& tables, LayoutOptions options = {}) {
    options.fit.formula = "y ~ x + p";
    options.fit.family = *Family::parse("binomial");
    options.training.data.clear();
    for (std::size_t k = 0; k < tables.size(); ++k) {
      const std::string file = (folder_.path() / fmt::format("s{}.csv", k)).string();
      std::ofstream(file) << usual_tables()[k];
      options.training.data += (k > 0 ? "," : "") + file;
    }
    options.training.graph = "path";
    options.out = (folder_.path() / "net").string();
    auto made = make_layout(options);
    EXPECT_TRUE(made) << made.error().text();
    layout = std::move(*made);
    for (std::size_t k = 0; k < tables.size(); ++k) write_table(k, tables[k]);
    fit_ = options.fit;
  }
  void write_table(std::size_t k, const std::string& text) const {
    std::ofstream(layout.peers[k].folder / "table.csv") << text;
  }
  PeerConfig config(std::size_t k) const {
    auto config = read_peer_config(layout.peers[k].folder / "peer.toml");
    EXPECT_TRUE(config) << config.error().text();
    config->disclosure.mode = "off";
    return *config;
  }
  std::vector<std::unique_ptr<LiveFit>> start_all() const {
    std::vector<std::unique_ptr<LiveFit>> peers;
    for (std::size_t k = 0; k < layout.peers.size(); ++k)
      peers.push_back(std::make_unique<LiveFit>(config(k)));
    return peers;
  }
  FittedModel model(std::size_t k) const {
    const auto text = read_file(layout.peers[k].folder / "state" / "model.json");
    EXPECT_TRUE(text);
    auto model = fitted_model_from_json(nlohmann::json::parse(*text));
    EXPECT_TRUE(model);
    return *model;
  }
  /// The same fit with all tables in one process.
  Inference pooled(const std::vector<std::string>& tables) const {
    FitOptions options = fit_;
    std::vector<Table> parsed;
    for (std::size_t k = 0; k < tables.size(); ++k)
      parsed.push_back(*parse_table(tables[k], fmt::format("s{}", k)));
    Config config;
    config.no_reference = true;
    const auto data = make_fit_data(options, config, parsed);
    EXPECT_TRUE(data) << data.error().text();
    const auto found = fit(options, config, *data);
    EXPECT_TRUE(found) << found.error().text();
    return found->model.inference;
  }
  /// All models have one table, to the last bit, and it is that of the tables in one process.
  void expect_table_of(const std::vector<std::string>& tables) const {
    const Inference expected = pooled(tables);
    const auto first = table_json(model(0).inference.table);
    for (std::size_t k = 0; k < layout.peers.size(); ++k) {
      const Inference own = model(k).inference;
      EXPECT_EQ(table_json(own.table), first) << k;
      EXPECT_EQ(inference_json(own), inference_json(model(0).inference)) << k;
      ASSERT_EQ(own.table.size(), expected.table.size());
      for (std::size_t row = 0; row < own.table.size(); ++row) {
        EXPECT_EQ(own.table[row].name, expected.table[row].name);
        const double size = 1e-3 + std::abs(expected.table[row].estimate);
        EXPECT_NEAR(own.table[row].estimate, expected.table[row].estimate, 1e-8 * size);
        EXPECT_NEAR(*own.table[row].std_error, *expected.table[row].std_error, 1e-8 * size);
      }
      EXPECT_NEAR(own.deviance, expected.deviance, 1e-8 * expected.deviance);
      EXPECT_NEAR(*own.null_deviance, *expected.null_deviance, 1e-8 * expected.deviance);
      EXPECT_EQ(own.samples, expected.samples);
      EXPECT_EQ(own.dropped, expected.dropped);
    }
  }

 private:
  TestFolder folder_;
  FitOptions fit_;

 public:
  Layout layout;
};

void expect_fit_of(const std::vector<std::string>& tables, LayoutOptions options = {}) {
  const FitNetwork network(tables, std::move(options));
  for (auto& peer : network.start_all()) ASSERT_EQ(peer->outcome(), "converged");
  network.expect_table_of(tables);
}

/// One site has its columns in another order, one lacks a level, one has missing cells.
TEST(FitBetweenPeers, IsThatOfTheTablesInOneProcess) {
  const auto rows = rows_of(150);
  std::string turned = "p,y,x\n", without = "y,x,p\n";
  for (std::size_t k = 0; k < 40; ++k) {
    const auto last = rows[k].rfind(',');
    turned += rows[k].substr(last + 1, 1) + "," + rows[k].substr(0, last) + "\n";
  }
  for (std::size_t k = 40; k < 100; ++k)
    if (rows[k].find(",c") == std::string::npos) without += rows[k];
  const std::string missing = table_of(rows, 100, 150) + "yes,,a\nno,3,NA\n";
  expect_fit_of({turned, without, missing});
}

TEST(FitBetweenPeers, HoldsWithMaskedSumsAndRobustErrors) {
  LayoutOptions options;
  options.training.sums = SumsKind::masked;
  options.fit.robust = true;
  expect_fit_of(usual_tables(), options);
}

TEST(FitBetweenPeers, HoldsWithLinks) {
  LayoutOptions options;
  options.training.method = Method::druid_vl;
  options.method_given = true;
  expect_fit_of(usual_tables(), options);
}

TEST(FitBetweenPeers, TakesASiteWithOneClass) {
  const auto rows = rows_of(150);
  std::string yes = "y,x,p\n", rest = "y,x,p\n";
  for (std::size_t k = 0; k < 100; ++k) (rows[k].starts_with("yes") ? yes : rest) += rows[k];
  for (std::size_t k = 100; k < 150; ++k) rest += rows[k];
  expect_fit_of({yes, rest, table_of(rows, 0, 30)});
}

TEST(FitBetweenPeers, NamesSiteAndColumnThatIsMissing) {
  auto tables = usual_tables();
  tables[2] = "y,z,p\nyes,1,a\nno,2,b\n";
  const FitNetwork network(tables);
  auto peers = network.start_all();
  EXPECT_NE(peers[2]->outcome().find("has no column x"), std::string::npos);
  for (std::size_t k = 0; k < 2; ++k) {
    const std::string said = peers[k]->outcome();
    EXPECT_NE(said.find("peer-2: refuses: has no column x"), std::string::npos) << said;
  }
}

TEST(FitBetweenPeers, NamesSitesWithOtherLabels) {
  auto tables = usual_tables();
  std::string& other = tables[1];
  for (std::size_t at = 0; (at = other.find("\nyes", at)) != std::string::npos;)
    other.replace(at, 4, "\n1");
  const FitNetwork network(tables);
  for (auto& peer : network.start_all()) {
    const std::string said = peer->outcome();
    EXPECT_NE(said.find("peer-0 has no, yes; peer-1 has 1, no"), std::string::npos) << said;
  }
}

/// The sums are squares of the coefficients. Those of 400 do not fit into a message.
TEST(FitBetweenPeers, RefusesMoreCoefficientsThanMessagesHold) {
  auto tables = usual_tables();
  KeyedRandom random({.seed = 6, .purpose = Purpose::synthetic});
  for (std::string& table : tables) {
    std::string wide;
    for (std::size_t at = 0, end; at < table.size(); at = end + 1) {
      end = table.find('\n', at);
      wide += table.substr(at, end - at);
      for (int column = 0; column < 400; ++column)
        wide += at == 0 ? fmt::format(",z{}", column) : fmt::format(",{:.3f}", random.normal());
      wide += '\n';
    }
    table = wide;
  }
  std::string formula = "y ~ x + p";
  for (int column = 0; column < 400; ++column) formula += fmt::format(" + z{}", column);
  const FitNetwork network(tables);
  std::vector<std::unique_ptr<LiveFit>> peers;
  for (std::size_t k = 0; k < 3; ++k) {
    PeerConfig config = network.config(k);
    config.fit.formula = formula;
    peers.push_back(std::make_unique<LiveFit>(config));
  }
  for (auto& peer : peers) {
    const std::string said = peer->outcome();
    EXPECT_NE(said.find("fit into a message"), std::string::npos) << said;
  }
}

TEST(FitBetweenPeers, ShowsTheCaretOfARefusedFormula) {
  const FitNetwork network(usual_tables());
  PeerConfig config = network.config(0);
  config.fit.formula = "y ~ (x + p";
  LiveFit peer(config);
  EXPECT_NE(peer.outcome().find("^"), std::string::npos);
}

/// A level with two rows is not even named to others.
TEST(FitBetweenPeers, KeepsARareLevelToItself) {
  auto tables = usual_tables();
  tables[0] += "yes,50,rare\nno,51,rare\n";
  const FitNetwork network(tables);
  PeerConfig config = network.config(0);
  config.disclosure.mode = "on";
  LiveFit peer(config);
  EXPECT_EQ(peer.outcome(), "forbidden");
  EXPECT_EQ(peer.rule(), "disclosure.min-count");
  EXPECT_FALSE(peer.logged("started"));
}

/// A peer starts late; another is killed while the others agree or train, and starts again without
/// its state.
TEST(FitBetweenPeers, SurvivesALateStartAndAKill) {
  const auto tables = usual_tables();
  const FitNetwork network(tables);
  LiveFit first(network.config(0));
  auto second = std::make_unique<LiveFit>(network.config(1));
  EXPECT_TRUE(eventually([&] { return second->logged("agreeing"); }));
  second.reset();
  LiveFit third(network.config(2));
  PeerConfig slow = network.config(1);
  second = std::make_unique<LiveFit>(slow);
  EXPECT_TRUE(eventually([&] { return second->logged("started"); }));
  second.reset();
  fs::remove_all(network.layout.peers[1].folder / "state");
  second = std::make_unique<LiveFit>(network.config(1));
  EXPECT_EQ(second->outcome(), "converged");
  EXPECT_EQ(first.outcome(), "converged");
  EXPECT_EQ(third.outcome(), "converged");
  network.expect_table_of(tables);
}

/// No row of p = c says no: the likelihood grows for ever.
TEST(FitBetweenPeers, NamesSeparatedColumns) {
  auto tables = usual_tables();
  for (std::string& table : tables)
    for (std::size_t at = 0; (at = table.find(",c\n", at)) != std::string::npos; at += 3) {
      const std::size_t line = table.rfind('\n', at) + 1;
      if (table.compare(line, 2, "no") == 0) table.replace(line, 2, "yes"), ++at;
    }
  const FitNetwork network(tables);
  for (auto& peer : network.start_all()) {
    const std::string said = peer->outcome();
    EXPECT_NE(said.find("separated: the likelihood grows for ever along p[T.c]"), std::string::npos)
        << said;
  }
}

/// The others have ended with the answer: what was saved is enough for the table.
TEST(FitBetweenPeers, WritesItsModelAfterTheOthersHaveEnded) {
  const auto tables = usual_tables();
  const FitNetwork network(tables);
  for (auto& peer : network.start_all()) ASSERT_EQ(peer->outcome(), "converged");
  fs::remove(network.layout.peers[1].folder / "state" / "model.json");
  PeerConfig config = network.config(1);
  config.linger_seconds = 0.5;
  LiveFit again(config);
  EXPECT_EQ(again.outcome(), "converged");
  network.expect_table_of(tables);
  EXPECT_EQ(network.model(1).coefficients, network.model(0).coefficients);
  EXPECT_EQ(network.model(1).intercepts, network.model(0).intercepts);
  const auto mode = fs::status(network.layout.peers[1].folder / "state" / "fit.bin").permissions();
  EXPECT_EQ(mode & fs::perms::all, fs::perms::owner_read | fs::perms::owner_write);
}

}  // namespace
}  // namespace grove::peer
