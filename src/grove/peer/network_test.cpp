// Complete peers on loopback with TLS, as threads of this process, so that sanitizers see them all.
#include <cstdlib>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "grove/base/file.h"
#include "grove/peer/dialer.h"
#include "grove/peer/layout.h"
#include "grove/peer/operator.h"
#include "grove/peer/peer.grpc.pb.h"
#include "grove/peer/peer.h"
#include "grove/peer/peer_agent.h"
#include "grove/peer/peer_config.h"
#include "grove/peer/test_folder.h"
#include "grove/peer/test_log.h"
#include "grove/peer/test_wait.h"
#include "grove/train/run.h"

namespace grove::peer {
namespace {

namespace fs = std::filesystem;

/// Runs a peer in its own thread.
class LivePeer {
 public:
  explicit LivePeer(PeerConfig config)
      : hooks_{.log = logger_to(log_), .interrupted = [this] { return stop_.load(); }},
        thread_([this, given = std::move(config)] {
          result_.emplace(run_peer(given, hooks_));
          ended_ = true;
        }) {}
  ~LivePeer() { stop(); }

  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  /// Waits until the network has agreed to stop.
  bool converged() {
    eventually([&] { return ended_.load(); });
    stop();  // has no effect on a peer that has ended
    return outcome() == PeerOutcome::converged;
  }
  /// Waits until the network has agreed to stop without some members. Returns their names.
  std::vector<std::string> converged_without() {
    EXPECT_FALSE(converged());
    if (outcome() != PeerOutcome::converged_without) return {"ended otherwise"};
    return (*result_)->without;
  }
  /// The outcome of a peer that has ended; none if it could not start.
  std::optional<PeerOutcome> outcome() const {
    return result_ && *result_ ? std::optional((*result_)->outcome) : std::nullopt;
  }
  /// Of a peer that could not start.
  std::string error() const { return result_ && !*result_ ? result_->error().text() : ""; }
  std::string log() { return log_->text(); }
  bool logged(const std::string& text) { return log_->has(text); }

 private:
  std::atomic<bool> stop_ = false, ended_ = false;
  std::shared_ptr<TestLog> log_ = std::make_shared<TestLog>();
  PeerHooks hooks_;
  std::optional<Result<PeerEnd>> result_;
  std::thread thread_;
};

class Network {
 public:
  explicit Network(Config training) : training_(std::move(training)) {
    training_.tolerance = 1e-9;
    auto made = make_layout({.training = training_, .out = (folder_.path() / "net").string()});
    EXPECT_TRUE(made) << made.error().text();
    layout = std::move(*made);
  }
  PeerConfig config(std::size_t peer) const {
    auto config = read_peer_config(layout.peers[peer].folder / "peer.toml");
    EXPECT_TRUE(config) << config.error().text();
    config->certify = settled_certify(*config);  // some tests change `members`
    return *config;
  }
  /// The optimum by proximal Newton on the pooled data, weighted as the shards of the peers.
  Vector optimum() const {
    const auto problem = prepare(training_);
    EXPECT_TRUE(problem && problem->reference);
    return problem->reference->x;
  }
  Vector model(std::size_t peer) const {
    const auto text = read_file(layout.peers[peer].folder / "state" / "model.json");
    EXPECT_TRUE(text);
    const auto values = nlohmann::json::parse(*text).at("coefficients").get<std::vector<double>>();
    return Eigen::Map<const Vector>(values.data(), static_cast<Index>(values.size()));
  }
  nlohmann::json state_file(std::size_t peer, const char* name) const {
    const auto text = read_file(layout.peers[peer].folder / "state" / name);
    EXPECT_TRUE(text);
    return nlohmann::json::parse(*text);
  }
  /// Delays messages, so that the tests can disturb the peers during the training.
  PeerConfig slow_config(std::size_t peer) const {
    PeerConfig slow = config(peer);
    slow.fault_delay_seconds = 0.03;
    return slow;
  }
  /// Waits until the status of the peer shows ten activations.
  bool has_worked(std::size_t peer) const {
    const auto identity = load_identity(layout.operator_files());
    return eventually([&] {
      const auto status = ask_status(layout.peers[peer], *identity);
      return status && status->at("activations") >= 10;
    });
  }

 private:
  TestFolder folder_;
  Config training_;

 public:
  Layout layout;
};

Config small_problem(std::uint64_t agents, PenaltySpec penalty = {}) {
  Config config;
  config.data = "synthetic:ijcnn-like,samples=600";
  config.agents = agents;
  config.penalty = penalty;
  config.graph = agents > 3 ? "ring" : "complete";
  config.l1 = 1e-3;
  config.l2 = 1e-3;
  return config;
}

std::string ijcnn1() {
  const char* folder = std::getenv("GROVE_DATA_DIR");
  const fs::path path =
      fs::path(folder != nullptr ? folder : GROVE_DEFAULT_DATA_DIR) / "ijcnn1.bz2";
  return fs::exists(path) ? path.string() : std::string();
}

double relative_error(const Vector& x, const Vector& optimum) {
  return (x - optimum).norm() / optimum.norm();
}

enum class Exchange { matrix_weight, scalar_penalty, tree_newton, masked_sums };

std::string name_of(Exchange exchange) {
  constexpr std::array names{"MatrixWeight", "ScalarPenalty", "TreeNewton", "MaskedSums"};
  return names[static_cast<std::size_t>(exchange)];
}

/// Runs with matrix weights, the default, with a scalar penalty, and with sums over a tree, open
/// and masked.
class PeerNetworkWith : public testing::TestWithParam<Exchange> {
 protected:
  static Config problem() {
    Config config = small_problem(
        4, GetParam() == Exchange::scalar_penalty ? PenaltySpec(3e-3) : PenaltySpec());
    if (GetParam() >= Exchange::tree_newton) config.method = Method::tree_newton;
    if (GetParam() == Exchange::masked_sums) config.sums = SumsKind::masked;
    return config;
  }
};
INSTANTIATE_TEST_SUITE_P(, PeerNetworkWith,
                         testing::Values(Exchange::matrix_weight, Exchange::scalar_penalty,
                                         Exchange::tree_newton, Exchange::masked_sums),
                         [](const auto& given) { return name_of(given.param); });

// l1 logistic regression on ijcnn1, ten peers over mutual TLS.
TEST(PeerNetwork, TenPeersReachTheCentralizedOptimum) {
  Config config;
  config.data = ijcnn1();
  if (config.data.empty()) {
    std::printf("no ijcnn1 on this machine: using a synthetic set instead\n");
    config.data = "synthetic:ijcnn-like";
  }
  config.samples = 4000;
  config.l1 = 1e-4;
  const Network network(config);
  std::vector<std::unique_ptr<LivePeer>> peers;
  for (std::size_t k = 0; k < 10; ++k)
    peers.push_back(std::make_unique<LivePeer>(network.config(k)));
  for (auto& peer : peers) ASSERT_TRUE(peer->converged()) << peer->log();
  const Vector optimum = network.optimum();
  for (std::size_t k = 0; k < 10; ++k)
    EXPECT_LT(relative_error(network.model(k), optimum), 1e-6) << "peer " << k;
}

// 2,500 features of which a row has 25: `auto` is sparse link weights here. Rows are 300, so that
// no shard sees all features.
TEST(PeerNetwork, PeersTrainManySparseCoefficients) {
  Config config;
  config.data = "synthetic:gaussian,samples=300,features=2500,density=0.01";
  config.agents = 3;
  config.graph = "path";
  config.l1 = 5e-3;
  const Network network(config);
  std::vector<std::unique_ptr<LivePeer>> peers;
  for (std::size_t k = 0; k < 3; ++k)
    peers.push_back(std::make_unique<LivePeer>(network.config(k)));
  for (auto& peer : peers) ASSERT_TRUE(peer->converged()) << peer->log();
  const Vector optimum = network.optimum();
  ASSERT_GT((optimum.array() != 0).count(), 20);
  for (std::size_t k = 0; k < 3; ++k)
    EXPECT_LT(relative_error(network.model(k), optimum), 1e-6) << "peer " << k;
}

// Three peers spend what was agreed and have one model. Afterwards a peer that has lost its
// checkpoint, or its account, does not begin again: its rows have nothing left.
TEST(PeerNetwork, SpendsAPrivacyBudgetOnce) {
  Config problem = small_problem(3);
  problem.method = Method::tree_newton;
  problem.sums = SumsKind::masked;
  problem.weighting = Weighting::sample;
  problem.dp = "epsilon=50,delta=1e-3,bound=3,steps=20";
  const Network network(problem);
  {
    std::vector<std::unique_ptr<LivePeer>> peers;
    for (std::size_t k = 0; k < 3; ++k)
      peers.push_back(std::make_unique<LivePeer>(network.config(k)));
    for (auto& peer : peers) ASSERT_TRUE(peer->converged()) << peer->log();
  }
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(network.model(k), network.model(0)) << "bit by bit";
    EXPECT_GT(network.model(k).norm(), 0);
    const auto privacy = network.state_file(k, "summary.json").at("privacy");
    EXPECT_NEAR(privacy.at("spent_epsilon").get<double>(), 50, 1e-3);
    const auto model = network.state_file(k, "model.json");
    EXPECT_FALSE(model.contains("objective") || model.contains("certificate"));
  }
  const fs::path state = network.layout.peers[0].folder / "state";
  const auto refusal = [&] {
    LivePeer peer(network.config(0));
    EXPECT_FALSE(peer.converged());
    return peer.error();
  };
  fs::rename(state / "privacy.json", state / "elsewhere");
  EXPECT_NE(refusal().find("missing, though there is a checkpoint"), std::string::npos);
  fs::rename(state / "elsewhere", state / "privacy.json");
  fs::remove(state / "checkpoint.bin");
  EXPECT_NE(refusal().find("has spent epsilon 50"), std::string::npos);
}

/// The optimum of the mean over some of the peers' shards.
Vector optimum_over(const Network& network, const std::vector<std::size_t>& members) {
  std::vector<PeerProblem> problems;
  std::vector<const Objective*> parts;
  for (const std::size_t k : members) {
    PeerConfig config = network.config(k);
    auto problem = load_problem(config);
    EXPECT_TRUE(problem);
    problems.push_back(std::move(*problem));
    parts.push_back(problems.back().objective.get());
  }
  const auto mean = make_mean_objective(std::move(parts));
  const auto reference = solve_reference(*mean, problems[0].regularizer);
  EXPECT_TRUE(reference);
  return reference->x;
}

/// F(x) = sum f_i + n r over the shards of all peers.
double network_objective(const Network& network, std::size_t peers, const Vector& x) {
  double sum = 0;
  for (std::size_t k = 0; k < peers; ++k) {
    PeerConfig config = network.config(k);
    const auto problem = load_problem(config);
    EXPECT_TRUE(problem);
    ObjectiveScratch scratch;
    sum += problem->objective->evaluate(x, Batch::all(), nullptr, nullptr, scratch) +
           problem->regularizer.value(x);
  }
  return sum;
}

// `auto` is tree-newton here. All ten end with one answer, bit for bit, and one certificate, whose
// objective is that of the pooled data.
TEST(PeerNetwork, TenPeersThatSumOverATreeEndWithOneCertifiedAnswer) {
  Config config;
  config.data = ijcnn1().empty() ? "synthetic:ijcnn-like" : ijcnn1();
  config.samples = 4000;
  config.l1 = 1e-4;
  config.method = Method::automatic;
  const Network network(config);
  std::vector<std::unique_ptr<LivePeer>> peers;
  for (std::size_t k = 0; k < 10; ++k)
    peers.push_back(std::make_unique<LivePeer>(network.config(k)));
  for (auto& peer : peers) ASSERT_TRUE(peer->converged()) << peer->log();
  EXPECT_TRUE(peers[0]->logged("--method auto is tree-newton")) << peers[0]->log();
  const Vector optimum = network.optimum();
  const nlohmann::json first = network.state_file(0, "model.json");
  EXPECT_LT(relative_error(network.model(0), optimum), 1e-8);
  const nlohmann::json& certificate = first.at("certificate");
  EXPECT_EQ(certificate.at("members"), 10);
  EXPECT_EQ(certificate.at("rows"), 4000);
  EXPECT_LT(certificate.at("residual"), 1e-9);
  EXPECT_LT(certificate.at("gap_estimate"), 1e-15);
  EXPECT_NEAR(certificate.at("objective"), network_objective(network, 10, network.model(0)), 1e-11);
  for (std::size_t k = 1; k < 10; ++k) {
    const nlohmann::json model = network.state_file(k, "model.json");
    EXPECT_EQ(model.at("coefficients"), first.at("coefficients")) << "peer " << k;
    EXPECT_EQ(model.at("certificate"), certificate) << "peer " << k;
    EXPECT_EQ(network.state_file(k, "summary.json").at("certificate"), certificate);
  }
}

// The data of a peer that is restarted with other data are not in the answer of the others, even
// though the members are the same: a new answer is computed.
TEST(PeerNetwork, OtherDataOfAMemberMakeTheSumsNew) {
  Config config = small_problem(3);
  config.method = Method::tree_newton;
  const Network network(config);
  const auto keep = [&](std::size_t k) {
    PeerConfig peer = network.config(k);
    peer.members = 100;  // they must not end before the data change
    return peer;
  };
  LivePeer first(keep(0)), second(keep(1));
  const auto identity = load_identity(network.layout.operator_files());
  const auto is_certified = [&] {
    const auto status = ask_status(network.layout.peers[0], *identity);
    return status && !status->at("certificate").is_null() && !status->at("residual").is_null();
  };
  {
    LivePeer third(keep(2));
    ASSERT_TRUE(eventually(is_certified)) << first.log();
  }
  fs::copy_file(network.layout.peers[0].folder / "shard.libsvm",
                network.layout.peers[2].folder / "shard.libsvm",
                fs::copy_options::overwrite_existing);
  LivePeer third(keep(2));
  const Vector optimum = optimum_over(network, {0, 1, 2});
  EXPECT_TRUE(eventually([&] {
    const auto status = ask_status(network.layout.peers[0], *identity);
    if (!status || status->at("residual").is_null()) return false;
    const double objective = status->at("certificate").at("objective");
    return std::abs(objective - network_objective(network, 3, optimum)) < 1e-9;
  })) << first.log();
}

TEST_P(PeerNetworkWith, SurvivesLostAndLateMessagesAndAnyOrderOfStarting) {
  const Network network(problem());
  std::vector<std::unique_ptr<LivePeer>> peers;
  for (const std::size_t k : {3u, 0u, 2u, 1u}) {
    PeerConfig config = network.config(k);
    config.fault_loss = 0.2;
    config.fault_delay_seconds = 0.005;
    peers.push_back(std::make_unique<LivePeer>(config));
  }
  for (auto& peer : peers) ASSERT_TRUE(peer->converged()) << peer->log();
  const Vector optimum = network.optimum();
  for (std::size_t k = 0; k < 4; ++k)
    EXPECT_LT(relative_error(network.model(k), optimum), 1e-6) << "peer " << k;
}

TEST_P(PeerNetworkWith, APeerThatIsStoppedResumesAndADamagedCheckpointIsSetAside) {
  const Network network(problem());
  std::vector<std::unique_ptr<LivePeer>> peers;
  for (const std::size_t k : {0u, 1u, 2u})
    peers.push_back(std::make_unique<LivePeer>(network.slow_config(k)));
  const fs::path checkpoint = network.layout.peers[3].folder / "state" / "checkpoint.bin";
  {
    LivePeer third(network.slow_config(3));
    ASSERT_TRUE(network.has_worked(3));
  }
  ASSERT_TRUE(fs::exists(checkpoint));
  std::ofstream(checkpoint, std::ios::app) << "x";
  PeerConfig resumed = network.slow_config(3);
  resumed.contact_seconds = 60;  // long enough to connect on a busy machine
  LivePeer again(resumed);
  ASSERT_TRUE(again.converged()) << again.log();
  EXPECT_TRUE(again.logged("set aside")) << again.log();
  EXPECT_TRUE(again.logged("starting from the values of 2 neighbours")) << again.log();
  EXPECT_TRUE(fs::exists(checkpoint.string() + ".bad-1"));
  for (auto& peer : peers) ASSERT_TRUE(peer->converged()) << peer->log();
  for (std::size_t k = 0; k < 4; ++k)
    EXPECT_LT(relative_error(network.model(k), network.optimum()), 1e-6) << "peer " << k;
}

TEST_P(PeerNetworkWith, GoesOnWithoutTheHolderOfTheRegularizerWhenItNeverComesBack) {
  const Network network(problem());
  std::vector<std::unique_ptr<LivePeer>> peers;
  const auto config_of = [&](std::size_t k) {
    PeerConfig config = network.slow_config(k);
    config.forget_seconds = 4;
    return config;
  };
  auto holder = std::make_unique<LivePeer>(config_of(0));
  for (const std::size_t k : {1u, 2u, 3u})
    peers.push_back(std::make_unique<LivePeer>(config_of(k)));
  for (const std::size_t k : {0u, 1u, 2u, 3u}) ASSERT_TRUE(network.has_worked(k));
  holder.reset();
  for (auto& peer : peers)
    ASSERT_EQ(peer->converged_without(), std::vector<std::string>{"peer-0"}) << peer->log();
  if (GetParam() == Exchange::scalar_penalty) {  // elsewhere every peer has a share
    EXPECT_TRUE(peers[0]->logged("holding the regularizer members=3")) << peers[0]->log();
  }
  const Vector optimum = optimum_over(network, {1, 2, 3});
  for (const std::size_t k : {1u, 2u, 3u})
    EXPECT_LT(relative_error(network.model(k), optimum), 1e-6) << "peer " << k;
}

// Links certify by masked sums, which hide nothing between two: these end by their residuals.
TEST(PeerNetwork, TwoThatAreLeftEndWithoutACertificate) {
  const Network network(small_problem(3));
  std::vector<std::unique_ptr<LivePeer>> peers;
  for (std::size_t k = 0; k < 3; ++k) {
    PeerConfig config = network.slow_config(k);
    config.forget_seconds = 4;
    config.disclosure.mode = "off";
    peers.push_back(std::make_unique<LivePeer>(config));
  }
  for (std::size_t k = 0; k < 3; ++k) ASSERT_TRUE(network.has_worked(k));
  peers[2].reset();
  for (const std::size_t k : {0u, 1u}) {
    ASSERT_EQ(peers[k]->converged_without(), std::vector<std::string>{"peer-2"});
    EXPECT_TRUE(peers[k]->logged("not certified: masks hide nothing")) << peers[k]->log();
    EXPECT_FALSE(network.state_file(k, "model.json").contains("certificate"));
    EXPECT_LT(relative_error(network.model(k), optimum_over(network, {0, 1})), 1e-6);
  }
}

// The default of three members or more: each model has what exact sums over all of them say.
TEST(PeerNetwork, LinksEndWithACertificateOfMaskedSums) {
  const Network network(small_problem(4));
  std::vector<std::unique_ptr<LivePeer>> peers;
  for (std::size_t k = 0; k < 4; ++k)
    peers.push_back(std::make_unique<LivePeer>(network.config(k)));
  for (auto& peer : peers) ASSERT_TRUE(peer->converged()) << peer->log();
  EXPECT_TRUE(peers[0]->logged("each member's own numbers are under masks")) << peers[0]->log();
  for (std::size_t k = 0; k < 4; ++k) {
    const auto certificate = network.state_file(k, "model.json").at("certificate");
    EXPECT_EQ(certificate.at("members"), 4);
    EXPECT_EQ(certificate.at("rows"), 600);
    EXPECT_LT(certificate.at("gap_bound"), 1e-6);
    EXPECT_NEAR(certificate.at("objective"), network_objective(network, 4, network.model(k)),
                1e-11);
  }
}

TEST_P(PeerNetworkWith, ANewPeerWithItsOwnDataJoinsWhileTheOthersRun) {
  // The layout contains peer 3, but the others do not list it. It starts later and dials them.
  const Network network(problem());
  std::vector<std::unique_ptr<LivePeer>> peers;
  for (const std::size_t k : {0u, 1u, 2u}) {
    PeerConfig config = network.config(k);
    std::erase_if(config.neighbours, [](const auto& one) { return one.name == "peer-3"; });
    config.members = 4;  // so that the three do not stop before it joins
    config.accept_new = true;
    peers.push_back(std::make_unique<LivePeer>(config));
  }
  for (const std::size_t k : {0u, 1u, 2u}) ASSERT_TRUE(network.has_worked(k));
  PeerConfig newcomer = network.config(3);
  newcomer.join = true;
  LivePeer fourth(newcomer);
  ASSERT_TRUE(fourth.converged()) << fourth.log();
  for (auto& peer : peers) ASSERT_TRUE(peer->converged()) << peer->log();
  EXPECT_TRUE(peers[0]->logged("joined peer=peer-3")) << peers[0]->log();
  const Vector optimum = network.optimum();
  for (std::size_t k = 0; k < 4; ++k)
    EXPECT_LT(relative_error(network.model(k), optimum), 1e-6) << "peer " << k;
}

TEST(PeerNetwork, KeepsRunningWhereTheStateDirectoryCannotBeWritten) {
  const Network network(small_problem(2));
  // A file in place of the directory makes writing fail, even for root.
  std::ofstream(network.layout.peers[0].folder / "state") << "in the way";
  LivePeer blocked(network.config(0)), other(network.config(1));
  EXPECT_TRUE(other.converged()) << other.log();  // which needs both peers
  EXPECT_LT(relative_error(network.model(1), network.optimum()), 1e-6);
  EXPECT_FALSE(blocked.converged());
  EXPECT_EQ(blocked.outcome(), PeerOutcome::unsaved);
  EXPECT_TRUE(blocked.logged("no checkpoint")) << blocked.log();
  EXPECT_TRUE(blocked.logged("no model")) << blocked.log();
}

/// Changes the configuration so that the network waits for members that never start.
PeerConfig endless(PeerConfig config) {
  config.members = 100;
  return config;
}

// A file replaces the directory while the peer runs, so that writing fails, even for root.
TEST(PeerNetwork, ReportsADiskThatFailsWhileItRunsAndResumesFromTheLastCheckpoint) {
  const Network network(small_problem(2));
  const fs::path state = network.layout.peers[0].folder / "state", away = state.string() + "-away";
  const auto identity = load_identity(network.layout.operator_files());
  for (int crash = 0; crash < 2; ++crash) {  // twice from the same checkpoint
    PeerConfig config = endless(network.config(0));
    config.checkpoint_seconds = 0.01;
    LivePeer failing(config), other(endless(network.config(1)));
    ASSERT_TRUE(network.has_worked(0) &&
                eventually([&] { return fs::exists(state / "checkpoint.bin"); }));
    fs::rename(state, away);
    std::ofstream(state) << "in the way";
    ASSERT_TRUE(eventually([&] {
      const auto status = ask_status(network.layout.peers[0], *identity);
      return status && status->at("checkpoint_trouble") != "";
    })) << failing.log();
    EXPECT_TRUE(failing.logged("no checkpoint"));
    EXPECT_TRUE(network.has_worked(0));  // the peer continues
    failing.stop();
    EXPECT_EQ(failing.outcome(), PeerOutcome::unsaved);
    fs::remove(state);
    fs::rename(away, state);
  }
  LivePeer again(network.config(0)), other(network.config(1));
  ASSERT_TRUE(again.converged()) << again.log();
  ASSERT_TRUE(other.converged()) << other.log();
  EXPECT_TRUE(again.logged("resumed activations")) << again.log();
  for (std::size_t k = 0; k < 2; ++k)
    EXPECT_LT(relative_error(network.model(k), network.optimum()), 1e-6) << "peer " << k;
}

// Hellos contain the last sequence received, and a neighbour that lost its state continues from
// there. The first hello of a peer that just started must contain the one of its checkpoint.
TEST(PeerNetwork, ListensOnlyAfterItHasReadItsCheckpoint) {
  const Network network(small_problem(2));
  PeerConfig config = endless(network.config(1));
  const auto problem = load_problem(config);
  ASSERT_TRUE(problem);
  PeerAgent past(*problem, "peer-1", 1,
                 PeerStart{Vector::Zero(problem->objective->dimension()), false});
  past.add("peer-0");
  Checkpoint checkpoint = past.checkpoint();
  checkpoint.last_received = {(std::uint64_t{5} << epoch_shift) + 7};
  checkpoint.owner = {config.network, config.name, problem->schema, problem->data};
  fs::create_directories(config.state);
  const fs::path file = fs::path(config.state) / "checkpoint.bin";
  ASSERT_TRUE(write_checkpoint(file, checkpoint));
  LivePeer peer(config);

  const auto folder = network.layout.peers[0].folder;
  const auto identity =
      load_identity({config.ca, (folder / "peer.crt").string(), (folder / "peer.key").string()});
  ASSERT_TRUE(identity);
  const auto stub =
      v1::Peer::NewStub(channel_to({"peer-1", config.listen}, *identity, problem->link_shape()));
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  const auto stream = stub->Link(&context);
  v1::Envelope envelope;
  v1::Hello& hello = *envelope.mutable_hello();
  hello.set_protocol(protocol_version);
  hello.set_network(config.network);
  hello.set_from("peer-0");
  hello.set_to("peer-1");
  set_schema(problem->schema, hello);
  ASSERT_TRUE(stream->Write(envelope) && stream->Read(&envelope)) << peer.log();
  EXPECT_EQ(envelope.hello().last_received(), checkpoint.last_received[0]);
  context.TryCancel();
  stream->Finish();
}

TEST(PeerNetwork, ANeighbourThatIsNoLongerInItsFileIsAStranger) {
  const Network network(small_problem(3));
  const auto config_of = [&](std::size_t k) { return endless(network.config(k)); };
  LivePeer first(config_of(0)), third(config_of(2));
  {
    LivePeer second(config_of(1));
    ASSERT_TRUE(network.has_worked(1));
  }
  PeerConfig without = config_of(1);
  std::erase_if(without.neighbours, [](const auto& one) { return one.name == "peer-0"; });
  LivePeer second(without);
  ASSERT_TRUE(eventually([&] { return first.logged("'peer-0' is not a neighbour"); }))
      << first.log();
  EXPECT_TRUE(eventually([&] { return second.logged("dropped peer=peer-0"); })) << second.log();
  const auto identity = load_identity(network.layout.operator_files());
  nlohmann::json links;
  ASSERT_TRUE(eventually([&] {
    const auto status = ask_status(network.layout.peers[1], *identity);
    if (!status || status->at("connected") != 1) return false;
    links = status->at("links");
    return true;
  }));
  ASSERT_EQ(links.size(), 1u);
  EXPECT_EQ(links[0].at("name"), "peer-2");
}

TEST(PeerNetwork, ReportsItsLocalStepsAndTheReasonInItsStatusAndSummary) {
  const Network network(small_problem(2));
  PeerConfig automatic = endless(network.config(0)), fixed = endless(network.config(1));
  automatic.training.work = "auto";
  fixed.training.work = "3";
  const auto identity = load_identity(network.layout.operator_files());
  {
    LivePeer first(automatic), second(fixed);
    const auto status_of = [&](std::size_t k) {
      auto status = ask_status(network.layout.peers[k], *identity);
      return status ? *status : nlohmann::json{{"work_reason", ""}, {"work", 0}};
    };
    EXPECT_TRUE(eventually([&] { return status_of(0).at("work_reason") != ""; })) << first.log();
    EXPECT_TRUE(eventually([&] { return status_of(1).at("work") == 3; })) << second.log();
    EXPECT_EQ(status_of(1).at("work_reason"), "");
  }
  const auto summary_of = [&](std::size_t k) {
    return nlohmann::json::parse(
        *read_file(network.layout.peers[k].folder / "state" / "summary.json"));
  };
  EXPECT_GE(summary_of(0).at("work"), 1);
  EXPECT_NE(summary_of(0).at("work_reason"), "");
  EXPECT_EQ(summary_of(1).at("work"), 3);
  EXPECT_EQ(summary_of(1).at("work_reason"), "");
}

TEST(PeerNetwork, AgreesToFloat32AndStillReachesTheOptimumToItsRounding) {
  const Network network(small_problem(2));
  const auto config_of = [&](std::size_t k) {
    PeerConfig config = network.config(k);
    config.float32 = true;
    config.training.tolerance = 1e-6;
    return config;
  };
  LivePeer first(config_of(0)), second(config_of(1));
  ASSERT_TRUE(first.converged()) << first.log();
  ASSERT_TRUE(second.converged()) << second.log();
  for (std::size_t k = 0; k < 2; ++k)
    EXPECT_LT(relative_error(network.model(k), network.optimum()), 1e-4) << "peer " << k;
}

TEST(PeerNetwork, APeerThatIsStoppedWritesItsCheckpointAndModelAndResumes) {
  const Network network(small_problem(2));
  const fs::path state = network.layout.peers[0].folder / "state";
  PeerConfig config = network.config(0);
  config.checkpoint_seconds = 1e6;  // only the final checkpoint
  std::uint64_t activations = 0;
  {
    LivePeer other(network.slow_config(1)), peer(config);
    ASSERT_TRUE(network.has_worked(0));
    peer.stop();
    EXPECT_EQ(peer.outcome(), PeerOutcome::stopped);
  }
  const auto summary = nlohmann::json::parse(*read_file(state / "summary.json"));
  EXPECT_EQ(summary.at("outcome"), "stopped");
  activations = summary.at("activations");
  EXPECT_TRUE(fs::exists(state / "model.json"));
  LivePeer again(config);
  ASSERT_TRUE(eventually([&] { return again.logged("resumed"); }));
  EXPECT_TRUE(again.logged("resumed activations=" + std::to_string(activations))) << again.log();
}

TEST(PeerNetwork, TheSameStateDirectoryIsNeverUsedByTwo) {
  const Network network(small_problem(2));
  LivePeer first(network.config(0));
  ASSERT_TRUE(eventually([&] { return first.logged("started"); }));
  const PeerHooks hooks{.log = logger_to(std::make_shared<TestLog>())};
  const auto second = run_peer(network.config(0), hooks);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().text().find("in use by another process"), std::string::npos);
}

}  // namespace
}  // namespace grove::peer
