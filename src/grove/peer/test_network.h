#pragma once

// Peers whose hubs are joined by hand: agents, hubs, hellos and messages as in a real network, but
// without threads, clock or sockets. The same run every time.

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "grove/peer/hub.h"
#include "grove/peer/link_stream.h"
#include "grove/peer/peer_agent.h"
#include "grove/peer/test_log.h"
#include "grove/problem/reference.h"

namespace grove::peer {

struct TestProblem {
  std::string penalty;
  std::uint64_t seed = 1;  ///< of the data
  double scale = 1;        ///< weight of its samples
};

inline PeerProblem problem_of(const TestProblem& wanted) {
  PeerConfig config;
  config.name = "any";
  config.holder = "peer-0";
  config.scale = wanted.scale;
  config.training.data = "synthetic:ijcnn-like,samples=100";
  config.training.seed = wanted.seed;
  config.training.l1 = 1e-3;
  config.training.l2 = 1e-3;
  for (Option& option : options_of(config))
    if (option.name == "penalty" && !option.set(wanted.penalty)) ADD_FAILURE() << wanted.penalty;
  auto problem = load_problem(config);
  if (!problem) ADD_FAILURE() << problem.error().text();
  return std::move(*problem);
}

/// The optimum of the mean over some of the problems.
inline Vector optimum_over(const std::vector<PeerProblem>& problems,
                           const std::vector<std::size_t>& members) {
  std::vector<const Objective*> parts;
  for (const std::size_t k : members) parts.push_back(problems[k].objective.get());
  const auto mean = make_mean_objective(std::move(parts));
  return solve_reference(*mean, problems[0].regularizer)->x;
}

class HandNetwork {
 public:
  using Edge = std::pair<std::size_t, std::size_t>;

  /// Borrows the problems. Nobody runs yet.
  HandNetwork(const std::vector<PeerProblem>& problems, std::vector<Edge> edges)
      : problems_(problems), edges_(std::move(edges)), peers_(problems.size()) {}

  static std::string name(std::size_t k) { return "peer-" + std::to_string(k); }
  const std::vector<Edge>& edges() const { return edges_; }
  bool runs(std::size_t k) const { return peers_[k].agent != nullptr; }
  PeerAgent& agent(std::size_t k) { return *peers_[k].agent; }
  Hub& hub(std::size_t k) { return *peers_[k].hub; }
  std::string log(std::size_t k) const { return peers_[k].log->text(); }
  bool connected(std::size_t a, std::size_t b) const { return session(a, b) != 0; }

  /// A new process, with what an earlier one left, if anything.
  void start(std::size_t k, const std::optional<Checkpoint>& checkpoint = {}) {
    Process& peer = peers_[k];
    const PeerProblem& problem = problems_[k];
    peer.hub = std::make_unique<Hub>(HubTerms{.network = "hand",
                                              .self = name(k),
                                              .fingerprint = problem.fingerprint,
                                              .shape = problem.link_shape(),
                                              .accept_new = true},
                                     logger_to(peer.log));
    peer.agent = std::make_unique<PeerAgent>(
        problem, name(k), 1, PeerStart{Vector::Zero(problem.objective->dimension()), false});
    if (checkpoint && !peer.agent->restore(*checkpoint)) FAIL() << "a checkpoint was refused";
    const std::vector<std::string> remembered = peer.agent->neighbours();
    for (const std::string& other : remembered)  // members silent for long are dropped in time
      if (!there(number(other))) peer.agent->drop(other);
    for (const std::size_t other : neighbours(k))
      if (there(other) && !peer.agent->has(name(other))) peer.agent->add(name(other));
    for (std::size_t slot = 0; slot < peer.agent->neighbours().size(); ++slot)
      peer.hub->add_link(peer.agent->neighbours()[slot], peer.agent->heard()[slot]);
    tell_membership();
  }
  void kill(std::size_t k) {
    for (const std::size_t other : neighbours(k)) disconnect(k, other);
    peers_[k].agent.reset();
    peers_[k].hub.reset();
  }
  /// Silent for so long that everybody drops it, and n with it. It may start again.
  void forget(std::size_t k) {
    kill(k);
    peers_[k].gone = true;
    for (const std::size_t other : neighbours(k))
      if (runs(other) && agent(other).has(name(k))) agent(other).drop(name(k));
    tell_membership();
  }

  /// Hellos both ways, as the dialer `a` and the server `b` exchange them.
  bool connect(std::size_t a, std::size_t b) {
    if (!runs(a) || !runs(b) || connected(a, b)) return false;
    std::uint64_t at_a = 0, at_b = 0;
    if (hub(b).admit(hub(a).hello_to(name(b)), at_b)) return false;
    if (hub(a).admit(hub(b).hello_to(name(a)), at_a)) {
      hub(b).end_session(name(a), at_b);
      return false;
    }
    sessions_[{a, b}] = at_a;
    sessions_[{b, a}] = at_b;
    words_[{a, b}] = words_[{b, a}] = false;
    welcome(a, b);
    welcome(b, a);
    return true;
  }
  void disconnect(std::size_t a, std::size_t b) {
    if (!connected(a, b)) return;
    hub(a).end_session(name(b), sessions_[{a, b}]);
    hub(b).end_session(name(a), sessions_[{b, a}]);
    sessions_[{a, b}] = sessions_[{b, a}] = 0;
  }
  void connect_all() {
    for (const auto& [a, b] : edges_) connect(a, b);
  }

  void activate(std::size_t k) {
    hub(k).take_iterates(
        [&](const std::string& from, const Message& message) { agent(k).receive(from, message); });
    agent(k).activate(hub(k).newest_heard_of_self(), 5);
    for (std::size_t slot = 0; slot < agent(k).neighbours().size(); ++slot) {
      const std::string& other = agent(k).neighbours()[slot];
      if (hub(k).say(other, agent(k).message_to(slot)))
        words_[{k, number(other)}] = true;
      else
        agent(k).not_sent(slot);
      agent(k).forget_message(slot);
    }
  }
  /// The next word of `from` arrives at `to`, spoiled by `spoil`. False: it was refused and the
  /// stream is over.
  template <class Spoil>
  bool carry(std::size_t from, std::size_t to, const Spoil& spoil) {
    if (!connected(from, to) || !words_[{from, to}]) return true;
    words_[{from, to}] = false;
    grpc::ByteBuffer bytes;
    hub(from).next(name(to), sessions_[{from, to}], bytes);
    v1::Envelope envelope;
    read_bytes(bytes, hub(to).dimension(), envelope);
    spoil(envelope);
    if (hub(to).deliver(name(from), sessions_[{to, from}], envelope)) return true;
    disconnect(from, to);
    return false;
  }
  bool carry(std::size_t from, std::size_t to) {
    return carry(from, to, [](v1::Envelope&) {});
  }
  /// Everybody who runs works once, and every word arrives.
  void round() {
    for (std::size_t k = 0; k < peers_.size(); ++k)
      if (runs(k)) activate(k);
    for (const auto& [a, b] : edges_) carry(a, b), carry(b, a);
  }
  void rounds(int count) {
    for (int k = 0; k < count; ++k) round();
  }
  bool at_rest() {
    for (std::size_t k = 0; k < peers_.size(); ++k)
      if (runs(k) && !(agent(k).residual() < 1e-9)) return false;
    return true;
  }
  bool comes_to_rest(int most_rounds = 5000) {
    for (int k = 0; k < most_rounds && !at_rest(); ++k) connect_all(), round();
    return at_rest();
  }
  /// The worst of those that run, relative to the optimum of all of them together.
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
  /// Who knows which curvature of whom, to tell what a failing run hangs on.
  std::string state() {
    std::string text;
    for (std::size_t k = 0; k < peers_.size(); ++k) {
      if (!runs(k)) continue;
      text += fmt::format("{} sequence {:x} residual {}\n", name(k), agent(k).sequence(),
                          agent(k).residual());
      for (std::size_t slot = 0; slot < agent(k).neighbours().size(); ++slot) {
        const auto said = agent(k).message_to(slot).payload;
        const std::string& other = agent(k).neighbours()[slot];
        text +=
            fmt::format("  {} connected {} heard {:x} own version {:x} theirs {:x}\n", other,
                        connected(k, number(other)), agent(k).heard()[slot],
                        std::bit_cast<std::int64_t>(said[1]), std::bit_cast<std::int64_t>(said[2]));
      }
      for (const LinkStatus& link : hub(k).links())
        if (!link.last_refusal.empty())
          text += "  refused " + link.name + " " + link.last_refusal + "\n";
    }
    return text;
  }
  /// Refusals that no honest peer should meet: all but of what is merely old.
  std::uint64_t breaches() {
    std::uint64_t count = 0;
    for (std::size_t k = 0; k < peers_.size(); ++k) {
      if (!runs(k)) continue;
      for (const LinkStatus& link : hub(k).links())
        for (std::size_t kind = 0; kind < refusal_kinds; ++kind)
          if (kind != static_cast<std::size_t>(Refusal::stale_sequence) &&
              kind != static_cast<std::size_t>(Refusal::stale_curvature))
            count += link.counts.refused[kind];
    }
    return count;
  }

 private:
  struct Process {
    std::shared_ptr<TestLog> log = std::make_shared<TestLog>();
    std::unique_ptr<Hub> hub;
    std::unique_ptr<PeerAgent> agent;
    bool gone = false;
  };

  static std::size_t number(const std::string& peer) { return std::stoul(peer.substr(5)); }
  bool there(std::size_t k) const { return !peers_[k].gone; }
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
  /// `other` is connected: a member again if it had been dropped.
  void welcome(std::size_t k, std::size_t other) {
    if (!agent(k).has(name(other))) agent(k).add(name(other));
    if (!peers_[other].gone) return;
    peers_[other].gone = false;
    tell_membership();
  }
  /// What gossip brings to everybody: how many there are, and who holds the regularizer.
  void tell_membership() {
    std::size_t members = 0, holder = peers_.size();
    for (std::size_t k = 0; k < peers_.size(); ++k) {
      if (!there(k)) continue;
      ++members;
      holder = std::min(holder, k);
    }
    for (std::size_t k = 0; k < peers_.size(); ++k)
      if (runs(k)) agent(k).hold_regularizer(k == holder, members);
  }

  const std::vector<PeerProblem>& problems_;
  std::vector<Edge> edges_;
  std::vector<Process> peers_;
  std::map<Edge, std::uint64_t> sessions_;  ///< (here, there): of the stream, as known here
  std::map<Edge, bool> words_;              ///< (from, to): something waits to be sent
};

}  // namespace grove::peer
