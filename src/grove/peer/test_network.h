#pragma once

// An in-process network: agents, link tables, hellos and messages as in a real network, but without
// threads, clock or sockets. Every run is the same.

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "grove/peer/link_table.h"
#include "grove/peer/peer_agent.h"
#include "grove/peer/test_log.h"
#include "grove/problem/reference.h"

namespace grove::peer {

struct TestProblem {
  std::string penalty;
  std::uint64_t seed = 1;  ///< of the data
  double scale = 1;        ///< weight of the samples
  std::string method = "druid-vl";
  bool certify = false;
  double feature_bound = 0;
};

inline PeerProblem problem_of(const TestProblem& wanted) {
  PeerConfig config;
  config.name = "any";
  config.holder = "peer-0";
  config.scale = wanted.scale;
  config.certify = wanted.certify ? Certify::open : Certify::off;
  config.influence.feature_bound = wanted.feature_bound;
  config.training.data = "synthetic:ijcnn-like,samples=100";
  config.training.seed = wanted.seed;
  config.training.l1 = 1e-3;
  config.training.l2 = 1e-3;
  for (Option& option : options_of(config)) {
    if (option.name == "penalty" && !option.set(wanted.penalty)) ADD_FAILURE() << wanted.penalty;
    if (option.name == "method" && !option.set(wanted.method)) ADD_FAILURE() << wanted.method;
  }
  auto problem = load_problem(config);
  if (!problem) ADD_FAILURE() << problem.error().text();
  return std::move(*problem);
}

/// The optimum of the mean over the given members.
inline Vector optimum_over(const std::vector<PeerProblem>& problems,
                           const std::vector<std::size_t>& members) {
  std::vector<const Objective*> parts;
  for (const std::size_t k : members) parts.push_back(problems[k].objective.get());
  const auto mean = make_mean_objective(std::move(parts));
  return solve_reference(*mean, problems[0].regularizer)->x;
}

class InProcessNetwork {
 public:
  using Edge = std::pair<std::size_t, std::size_t>;

  /// The problems must outlive the network. No peer runs yet.
  InProcessNetwork(const std::vector<PeerProblem>& problems, std::vector<Edge> edges)
      : problems_(problems), edges_(std::move(edges)), peers_(problems.size()) {}

  static std::string name(std::size_t k) { return "peer-" + std::to_string(k); }
  const std::vector<Edge>& edges() const { return edges_; }
  bool runs(std::size_t k) const { return peers_[k].agent != nullptr; }
  PeerAgent& agent(std::size_t k) { return *peers_[k].agent; }
  LinkTable& link_table(std::size_t k) { return *peers_[k].link_table; }
  std::string log(std::size_t k) const { return peers_[k].log->text(); }
  bool connected(std::size_t a, std::size_t b) const { return session(a, b) != 0; }

  /// Starts the process of peer k, from a checkpoint if there is one.
  void start(std::size_t k, const std::optional<Checkpoint>& checkpoint = {}) {
    Process& peer = peers_[k];
    const PeerProblem& problem = problems_[k];
    peer.link_table = std::make_unique<LinkTable>(LinkTableOptions{.network = "in-process",
                                                                   .self = name(k),
                                                                   .schema = problem.schema,
                                                                   .shape = problem.link_shape(),
                                                                   .accept_new = true},
                                                  logger_to(peer.log));
    peer.agent = std::make_unique<PeerAgent>(
        problem, name(k), 1, PeerStart{Vector::Zero(problem.objective->dimension()), false});
    if (checkpoint && !peer.agent->restore(*checkpoint)) FAIL() << "a checkpoint was rejected";
    const std::vector<std::string> remembered = peer.agent->neighbours();
    for (const std::string& other : remembered)  // the agent drops members that are gone
      if (!is_member(number(other))) peer.agent->drop(other);
    for (const std::size_t other : neighbours(k))
      if (is_member(other) && !peer.agent->has(name(other))) peer.agent->add(name(other));
    for (std::size_t slot = 0; slot < peer.agent->neighbours().size(); ++slot)
      peer.link_table->add_link(peer.agent->neighbours()[slot], peer.agent->last_received()[slot]);
    publish_membership();
  }
  void kill(std::size_t k) {
    for (const std::size_t other : neighbours(k)) disconnect(k, other);
    peers_[k].agent.reset();
    peers_[k].link_table.reset();
  }
  /// Ends peer k, and lets all others drop it as after a long silence. It may start again.
  void forget(std::size_t k) {
    kill(k);
    peers_[k].gone = true;
    for (const std::size_t other : neighbours(k))
      if (runs(other) && agent(other).has(name(k))) agent(other).drop(name(k));
    publish_membership();
  }

  /// Exchanges hellos like the dialer `a` and the server `b`.
  bool connect(std::size_t a, std::size_t b) {
    if (!runs(a) || !runs(b) || connected(a, b)) return false;
    std::uint64_t at_a = 0, at_b = 0;
    if (link_table(b).admit(link_table(a).hello_to(name(b)), at_b)) return false;
    if (link_table(a).admit(link_table(b).hello_to(name(a)), at_a)) {
      link_table(b).end_session(name(a), at_b);
      return false;
    }
    sessions_[{a, b}] = at_a;
    sessions_[{b, a}] = at_b;
    pending_[{a, b}] = pending_[{b, a}] = false;
    on_connected(a, b);
    on_connected(b, a);
    return true;
  }
  void disconnect(std::size_t a, std::size_t b) {
    if (!connected(a, b)) return;
    link_table(a).end_session(name(b), sessions_[{a, b}]);
    link_table(b).end_session(name(a), sessions_[{b, a}]);
    sessions_[{a, b}] = sessions_[{b, a}] = 0;
  }
  void connect_all() {
    for (const auto& [a, b] : edges_) connect(a, b);
  }

  void activate(std::size_t k) {
    link_table(k).take_iterates(
        [&](const std::string& from, const Message& message) { agent(k).receive(from, message); });
    for (const std::size_t other : neighbours(k))
      agent(k).set_live(name(other), connected(k, other));
    agent(k).activate(link_table(k).newest_received_from_self(), 5);
    for (std::size_t slot = 0; slot < agent(k).neighbours().size(); ++slot) {
      const std::string& other = agent(k).neighbours()[slot];
      if (link_table(k).send(other, agent(k).message_to(slot)))
        pending_[{k, number(other)}] = true;
      else
        agent(k).not_sent(slot);
      agent(k).release_message(slot);
    }
  }
  /// Delivers the next message of `from` to `to`, after `corrupt` has changed it. Returns false if
  /// `to` rejected the message and closed the stream.
  template <class Corrupt>
  bool deliver(std::size_t from, std::size_t to, const Corrupt& corrupt) {
    if (!connected(from, to) || !pending_[{from, to}]) return true;
    pending_[{from, to}] = false;
    v1::Envelope sent, envelope;
    link_table(from).next_to_send(name(to), sessions_[{from, to}], sent);
    if (!envelope.ParseFromString(sent.SerializeAsString())) ADD_FAILURE() << "invalid bytes";
    corrupt(envelope);
    if (link_table(to).deliver(name(from), sessions_[{to, from}], envelope)) return true;
    disconnect(from, to);
    return false;
  }
  bool deliver(std::size_t from, std::size_t to) {
    return deliver(from, to, [](v1::Envelope&) {});
  }
  /// Activates every running peer once, and delivers all messages.
  void round() {
    for (std::size_t k = 0; k < peers_.size(); ++k)
      if (runs(k)) activate(k);
    for (const auto& [a, b] : edges_) deliver(a, b), deliver(b, a);
  }
  void rounds(int count) {
    for (int k = 0; k < count; ++k) round();
  }
  bool converged() {
    for (std::size_t k = 0; k < peers_.size(); ++k)
      if (runs(k) && !(agent(k).residual() < 1e-9)) return false;
    return true;
  }
  bool converges(int max_rounds = 5000) {
    for (int k = 0; k < max_rounds && !converged(); ++k) connect_all(), round();
    return converged();
  }
  /// All running peers have one certified answer, which counts exactly them.
  bool certified() {
    std::vector<AgentId> members;
    for (std::size_t k = 0; k < peers_.size(); ++k)
      if (runs(k)) members.push_back(AgentId{agent_number(name(k))});
    std::ranges::sort(members);
    const PeerAgent* first = nullptr;
    for (std::size_t k = 0; k < peers_.size(); ++k) {
      if (!runs(k)) continue;
      if (!std::ranges::equal(agent(k).counted_members(), members)) return false;
      if (first != nullptr && agent(k).answer() != first->answer()) return false;
      first = &agent(k);
    }
    return true;
  }
  bool certifies(int max_rounds = 5000) {
    for (int k = 0; k < max_rounds && !certified(); ++k) connect_all(), round();
    return certified();
  }
  /// The largest relative error of the running peers, against their common optimum.
  double error() {
    std::vector<std::size_t> members;
    for (std::size_t k = 0; k < peers_.size(); ++k)
      if (runs(k)) members.push_back(k);
    const Vector optimum = optimum_over(problems_, members);
    double worst = 0;
    for (const std::size_t k : members)
      worst = std::max(worst, (agent(k).answer() - optimum).norm() / optimum.norm());
    return worst;
  }
  /// Describes the versions that each peer knows, to diagnose a failing run.
  std::string state() {
    std::string text;
    for (std::size_t k = 0; k < peers_.size(); ++k) {
      if (!runs(k)) continue;
      text += fmt::format("{} sequence {:x} residual {}\n", name(k), agent(k).sequence(),
                          agent(k).residual());
      for (std::size_t slot = 0; slot < agent(k).neighbours().size(); ++slot) {
        const WeightPair pair = agent(k).message_to(slot).weights.value_or(WeightPair{});
        const std::string& other = agent(k).neighbours()[slot];
        text += fmt::format("  {} connected {} received {:x} own version {:x} theirs {:x}\n", other,
                            connected(k, number(other)), agent(k).last_received()[slot],
                            pair.sender.version, pair.receiver.version);
      }
      for (const LinkStatus& link : link_table(k).statuses())
        if (!link.last_rejection.empty())
          text += "  rejected " + link.name + " " + link.last_rejection + "\n";
    }
    return text;
  }
  /// The number of rejections that valid peers must not cause, which are all but those of old
  /// messages.
  std::uint64_t violations() {
    std::uint64_t count = 0;
    for (std::size_t k = 0; k < peers_.size(); ++k) {
      if (!runs(k)) continue;
      for (const LinkStatus& link : link_table(k).statuses())
        for (std::size_t kind = 0; kind < reject_reason_count; ++kind)
          if (kind != static_cast<std::size_t>(RejectReason::stale_sequence) &&
              kind != static_cast<std::size_t>(RejectReason::stale_link_weight))
            count += link.counts.rejected[kind];
    }
    return count;
  }

 private:
  struct Process {
    std::shared_ptr<TestLog> log = std::make_shared<TestLog>();
    std::unique_ptr<LinkTable> link_table;
    std::unique_ptr<PeerAgent> agent;
    bool gone = false;
  };

  static std::size_t number(const std::string& peer) { return std::stoul(peer.substr(5)); }
  bool is_member(std::size_t k) const { return !peers_[k].gone; }
  std::uint64_t session(std::size_t a, std::size_t b) const {
    const auto found = sessions_.find({a, b});
    return found == sessions_.end() ? 0 : found->second;
  }
  std::vector<std::size_t> neighbours(std::size_t k) const {
    std::vector<std::size_t> result;
    for (const auto& [a, b] : edges_) {
      if (a == k) result.push_back(b);
      if (b == k) result.push_back(a);
    }
    return result;
  }
  /// `other` is connected. It is a member again if it had been dropped.
  void on_connected(std::size_t k, std::size_t other) {
    if (!agent(k).has(name(other))) agent(k).add(name(other));
    if (!peers_[other].gone) return;
    peers_[other].gone = false;
    publish_membership();
  }
  /// Informs every peer of the number of members and the holder of the regularizer, like gossip.
  void publish_membership() {
    std::size_t members = 0, holder = peers_.size();
    for (std::size_t k = 0; k < peers_.size(); ++k) {
      if (!is_member(k)) continue;
      ++members;
      holder = std::min(holder, k);
    }
    for (std::size_t k = 0; k < peers_.size(); ++k)
      if (runs(k)) agent(k).set_regularizer_holder(k == holder, members);
  }

  const std::vector<PeerProblem>& problems_;
  std::vector<Edge> edges_;
  std::vector<Process> peers_;
  std::map<Edge, std::uint64_t> sessions_;  ///< (here, other end): the session, as known here
  std::map<Edge, bool> pending_;            ///< (from, to): a message waits to be sent
};

}  // namespace grove::peer
