#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "grove/base/random.h"
#include "grove/methods/tree_newton.h"
#include "support/glm_objective.h"

namespace grove::testing_support {

/// sum_k f_k + n l1 |x|_1 over the agents of a graph.
struct TreeProblem {
  Glms parts;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  double l1 = 0;
  Vector start = {};  ///< empty: zero
  bool masked = false;
  std::function<void(std::uint32_t from, const Message&)> sent = {};  ///< for each message
};

/// Links and agents at their worst.
struct TreeFaults {
  std::vector<double> participation;  ///< by agent; empty: 1
  double loss = 0;                    ///< probability that a message is lost
  std::uint64_t delay = 0;            ///< at most that many rounds late: messages overtake
  double duplicates = 0;              ///< probability that a message arrives twice
  std::uint64_t seed = 1;
};

/// Agents of tree-newton in lock-step rounds, with faults between rounds: what no runtime has, but
/// networks do.
class TreeNetwork {
 public:
  /// `absent`: agents that are not there at first.
  TreeNetwork(TreeProblem problem, const TreeNewtonOptions& options, TreeFaults faults = {},
              const std::set<std::uint32_t>& absent = {});

  void advance();
  std::uint64_t round() const { return round_; }
  /// Everybody has the same certified answer. One agent's word is not enough: an agent that was
  /// rolled back to an older answer cannot know before its next message.
  bool finished() const;
  std::vector<const TreeNewtonAgent*> agents() const;  ///< present, in order
  std::vector<std::uint32_t> present() const;
  std::uint64_t bytes_sent() const { return bytes_; }

  // Faults, between rounds.
  void pause(std::uint32_t agent) { down_.insert(agent); }
  void wake(std::uint32_t agent) { down_.erase(agent); }
  void cut(std::uint32_t a, std::uint32_t b) { cut_.insert(std::minmax(a, b)); }
  void heal(std::uint32_t a, std::uint32_t b) { cut_.erase(std::minmax(a, b)); }
  void lose_state(std::uint32_t agent);
  void roll_back(std::uint32_t agent);  ///< to a checkpoint some 60 rounds old
  void leave(std::uint32_t agent);      ///< without a word
  void forget(std::uint32_t agent);     ///< all its neighbours drop it
  void join(std::uint32_t agent);

 private:
  struct Member {
    std::unique_ptr<TreeNewtonAgent> agent;
    std::vector<std::uint32_t> neighbours;  ///< by slot
    std::map<std::uint64_t, std::pair<std::vector<std::uint32_t>, std::string>> checkpoints;
  };
  struct Letter {
    std::uint32_t from, to;
    StoredMessage message;
  };

  std::unique_ptr<TreeNewtonAgent> make(std::uint32_t agent,
                                        const std::vector<std::uint32_t>& neighbours) const;
  void send_from(std::uint32_t agent);
  void deliver();
  void keep_checkpoints();
  double draw() { return random_.uniform(); }

  TreeProblem problem_;
  TreeNewtonOptions options_;
  TreeFaults faults_;
  KeyedRandom random_;
  std::map<std::uint32_t, Member> members_;
  std::set<std::uint32_t> down_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> cut_;
  std::map<std::uint64_t, std::vector<Letter>> letters_;  ///< by arrival
  Workspace workspace_;
  std::uint64_t round_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace grove::testing_support
