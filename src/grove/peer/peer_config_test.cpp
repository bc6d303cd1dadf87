#include "grove/peer/peer_config.h"

#include <fstream>

#include <gtest/gtest.h>

#include "grove/peer/test_folder.h"

namespace grove::peer {
namespace {

namespace fs = std::filesystem;

/// A valid peer.toml with its files, which the tests change.
class PeerToml : public ::testing::Test {
 protected:
  PeerToml() {
    for (const char* file : {"ca.crt", "peer.crt", "peer.key"})
      std::ofstream(folder.path() / file) << "PEM";
    fs::permissions(folder.path() / "peer.key", fs::perms::owner_read | fs::perms::owner_write);
  }
  /// With one line replaced (by the key it starts with), added or, if `line` is only a key,
  /// removed.
  Result<PeerConfig> read_with(const std::string& line = "") {
    const std::string key = line.substr(0, line.find(' '));
    const fs::path path = folder.path() / "peer.toml";
    std::ofstream file(path);
    for (const std::string good :
         {"name = \"peer-1\"", "listen = \"127.0.0.1:7001\"", "holder = \"peer-0\"",
          "neighbours = [\"peer-0@127.0.0.1:7000\"]", "ca = \"ca.crt\"",
          "certificate = \"peer.crt\"", "key = \"peer.key\"", "data = \"shard.libsvm\""})
      if (line.empty() || !good.starts_with(key + " ")) file << good << "\n";
    if (line != key) file << line << "\n";
    file.close();
    return read_peer_config(path);
  }
  /// The error message of the changed file.
  std::string error_of(const std::string& line) {
    const auto config = read_with(line);
    EXPECT_FALSE(config) << line;
    return config ? "" : config.error().text();
  }
  void expect_names(const std::string& line, const std::string& text) {
    const std::string error = error_of(line);
    EXPECT_NE(error.find(text), std::string::npos) << line << " gave: " << error;
    EXPECT_NE(error.find("peer.toml"), std::string::npos) << error;
  }

  TestFolder folder;
};

TEST_F(PeerToml, SaysWhatDifferentialPrivacyNeeds) {
  const std::string promise = "dp = \"epsilon=1,delta=1e-6,bound=2\"";
  expect_names("dp = \"epsilon=1\"", "expected epsilon=E,delta=D,bound=R");
  expect_names(promise, "dp: needs weighting = \"sample\"");
  expect_names(promise + "\nloss = \"squared\"", "dp: needs loss = \"logistic\"");
  const std::string weighted = promise + "\nweighting = \"sample\"\nmembers = 3";
  expect_names(weighted, "dp: needs sums = \"masked\"");
  const std::string masked = weighted + "\nsums = \"masked\"\nmethod = \"tree-newton\"";
  expect_names(masked + "\ncontributions = true", "dp: needs contributions = false");
  const auto config = read_with(masked);
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->training.dp.meaning()->epsilon, 1);
}

TEST_F(PeerToml, IsReadWithFilesRelativeToItsFolder) {
  const auto config = read_with();
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->name, "peer-1");
  ASSERT_EQ(config->neighbours.size(), 1u);
  EXPECT_EQ(config->neighbours[0].name, "peer-0");
  EXPECT_EQ(config->neighbours[0].address, "127.0.0.1:7000");
  EXPECT_EQ(config->members, 2u);
  EXPECT_EQ(config->key, (folder.path() / "peer.key").string());
  EXPECT_EQ(config->state, (folder.path() / "state").string());
}

TEST_F(PeerToml, ListensNowhereElseAndKeepsTlsUnlessAsked) {
  const auto config = read_with();
  ASSERT_TRUE(config);
  EXPECT_EQ(config->metrics, "");
  EXPECT_FALSE(config->insecure);
  EXPECT_FALSE(config->accept_new);
  EXPECT_FALSE(config->float32);
}

TEST_F(PeerToml, NamesTheUnknownKeyAndTheClosestKnownOne) {
  expect_names("neighbors = []", "neighbors");
  expect_names("neighbors = []", "neighbours");
  expect_names("heartbeats = 1", "heartbeat");
  expect_names("rounds = 5", "rounds");  // a key of `grove train`, but not of peers
}

TEST_F(PeerToml, NamesTheMissingKey) {
  for (const char* key : {"name", "holder", "listen", "ca", "certificate", "key"})
    expect_names(key, key);
}

TEST_F(PeerToml, NamesTheKeyOfAnImpossibleValue) {
  expect_names("name = \"Peer 1\"", "name");
  expect_names("name = \"operator\"", "name");
  expect_names("name = \"peer-0\"", "neighbours");  // the peer would be its own neighbour
  expect_names("holder = \"Nobody Here!\"", "holder");
  expect_names("neighbours = [\"peer-0\"]", "neighbours");
  expect_names("neighbours = [\"peer-0@127.0.0.1\"]", "neighbours");
  expect_names("neighbours = [\"peer-0@h:1\", \"peer-0@h:2\"]", "neighbours");
  expect_names("heartbeat = 0", "heartbeat");
  expect_names("forget-after = \"soon\"", "forget-after");
  expect_names("fault-loss = 1.5", "fault-loss");
  expect_names("method = \"pg-extra\"", "method");
  expect_names("loss = \"logistik\"", "loss");
  expect_names("float32 = true", "float32");  // with the default tolerance of 1e-8
}

// Without a host some libraries listen on every address of the machine.
TEST_F(PeerToml, NeverListensOnAnAddressThatIsNotSpelledOut) {
  for (const char* address : {"7000", ":7000", "127.0.0.1", "127.0.0.1:", "127.0.0.1:70000"}) {
    expect_names(std::string("listen = \"") + address + "\"", "listen");
    expect_names(std::string("metrics = \"") + address + "\"", "metrics");
  }
}

TEST_F(PeerToml, RefusesAPrivateKeyThatOthersMayRead) {
  const fs::path key = folder.path() / "peer.key";
  for (const auto readable : {fs::perms::group_read, fs::perms::others_read}) {
    fs::permissions(key, fs::perms::owner_read | readable);
    expect_names("seed = 1", "key: " + key.string() + " may be read by others");
  }
  fs::permissions(key, fs::perms::owner_read);
  EXPECT_TRUE(read_with());
}

TEST_F(PeerToml, NeedsTheKeyFileUnlessInsecure) {
  fs::remove(folder.path() / "peer.key");
  expect_names("seed = 1", "peer.key");
  EXPECT_TRUE(read_with("insecure = true"));
}

TEST_F(PeerToml, CutInTheMiddleOfAWriteIsRefusedWithTheLine) {
  expect_names("labels = [0,", "peer.toml:9");
}

}  // namespace
}  // namespace grove::peer
