#include "grove/sums/tree_sums.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "grove/base/random.h"
#include "grove/sums/fixed_point.h"

namespace grove {
namespace {

using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// Numbers of many magnitudes, by agent and question.
double number_of(std::uint32_t agent, double question, std::size_t k) {
  KeyedRandom random(RandomKey{.seed = 7,
                               .purpose = Purpose::synthetic,
                               .agent = agent,
                               .round = static_cast<std::uint64_t>(question),
                               .step = k});
  return random.normal() * std::pow(10, 8 * random.uniform() - 4);
}

/// Agents that sum three numbers, question after question, over links that lose, delay, repeat and
/// reorder messages.
class Network {
 public:
  Network(std::size_t size, const Edges& edges, std::uint64_t seed, bool faults,
          bool masked = false)
      : neighbours_(size), random_(RandomKey{.seed = seed}), faults_(faults) {
    for (const auto& [a, b] : edges) {
      neighbours_[a].push_back(AgentId{b});
      neighbours_[b].push_back(AgentId{a});
    }
    for (std::uint32_t i = 0; i < size; ++i) {
      std::ranges::sort(neighbours_[i]);
      agents_.emplace_back(
          AgentId{i}, neighbours_[i], LinkStateOptions{.patience = 1000},
          masked ? std::optional(simulated_masks(seed, AgentId{i})) : std::nullopt);
    }
  }

  void advance() {
    ++round_;
    for (std::uint32_t i = 0; i < agents_.size(); ++i)
      if (!faults_ || random_.uniform() < 0.7) activate(i);
    auto due = std::move(letters_[round_]);
    letters_.erase(round_);
    for (std::size_t k = due.size(); faults_ && k > 1; --k)
      std::swap(due[k - 1], due[random_.below(k)]);
    for (const Letter& letter : due)
      agents_[letter.to].receive(letter.slot, letter.message.view().sequence,
                                 *letter.message.view().tree);
  }

  const TreeSums& agent(std::uint32_t i) const { return agents_[i]; }
  std::vector<Answers> totals;  ///< in the order of the questions 0, 1, ...

 private:
  struct Letter {
    std::uint32_t to;
    std::size_t slot;
    StoredMessage message;
  };

  void activate(std::uint32_t i) {
    TreeSums& agent = agents_[i];
    const auto ask = [&] {
      agent.begin({.kind = 1, .numbers = {static_cast<double>(totals.size())}, .support = {}});
    };
    agent.begin_activation();
    if (agent.needs_wave()) ask();
    if (agent.wants_answer()) {
      Answers own;
      for (std::size_t k = 0; k < 3; ++k)
        own.numbers.push_back(number_of(i, agent.wave().question.numbers[0], k));
      agent.answer(std::move(own));
    }
    if (agent.leads() && agent.total()) {
      totals.push_back(*agent.total());
      ask();
    }
    agent.prepare_messages();
    for (std::size_t slot = 0; slot < neighbours_[i].size(); ++slot) send(i, slot);
  }

  void send(std::uint32_t i, std::size_t slot) {
    Message message{.sender = AgentId{i}, .sequence = round_};
    message.tree = agents_[i].fields_to(slot);
    const std::uint32_t to = neighbours_[i][slot].value;
    const auto back = std::ranges::find(neighbours_[to], AgentId{i}) - neighbours_[to].begin();
    for (int copy = 0; copy < (faults_ && random_.uniform() < 0.2 ? 2 : 1); ++copy)
      if (!faults_ || random_.uniform() >= 0.3)
        letters_[round_ + (faults_ ? random_.below(6) : 0)].push_back(
            {to, static_cast<std::size_t>(back), StoredMessage(message)});
  }

  std::vector<std::vector<AgentId>> neighbours_;
  std::vector<TreeSums> agents_;
  std::map<std::uint64_t, std::vector<Letter>> letters_;
  KeyedRandom random_;
  bool faults_;
  std::uint64_t round_ = 0;
};

void expect_plain_sums(const Network& network, std::uint32_t size, std::size_t questions) {
  ASSERT_GE(network.totals.size(), questions);
  for (std::size_t question = 0; question < network.totals.size(); ++question) {
    const Answers& total = network.totals[question];
    EXPECT_EQ(total.count, size);
    ASSERT_EQ(total.numbers.size(), 3u);
    for (std::size_t k = 0; k < 3; ++k) {
      double sum = 0, scale = 0;
      for (std::uint32_t i = 0; i < size; ++i) {
        const double number = number_of(i, static_cast<double>(question), k);
        sum += number;
        scale += std::abs(number);
      }
      EXPECT_NEAR(total.numbers[k], sum, 1e-12 * scale) << "question " << question;
    }
  }
  for (std::uint32_t i = 0; i < size; ++i) EXPECT_EQ(network.agent(i).refused_totals(), 0u);
}

Edges random_edges(std::uint64_t seed, std::uint32_t size) {
  KeyedRandom random(RandomKey{.seed = seed, .purpose = Purpose::graph});
  Edges edges;
  for (std::uint32_t k = 1; k < size; ++k)
    edges.emplace_back(static_cast<std::uint32_t>(random.below(k)), k);
  for (std::uint32_t i = 0; i < size; ++i)
    for (std::uint32_t j = i + 1; j < size; ++j)
      if (random.uniform() < 0.15 && std::ranges::find(edges, std::pair(i, j)) == edges.end())
        edges.emplace_back(i, j);
  return edges;
}

// Path of five: the table is complete at the root after two rounds; a wave takes four.
TEST(TreeSums, TakeTwiceTheDepthInRounds) {
  Network network(5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}}, 1, false);
  for (int round = 1; round <= 23; ++round) {
    network.advance();
    EXPECT_EQ(network.totals.size(), round < 7 ? 0u : static_cast<std::size_t>(round - 3) / 4)
        << "round " << round;
  }
  expect_plain_sums(network, 5, 5);
}

TEST(TreeSums, EqualThePlainSumsOverAnyGraph) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto size = static_cast<std::uint32_t>(1 + seed % 12);
    Network network(size, random_edges(seed, size), seed, false);
    for (int round = 0; round < 80; ++round) network.advance();
    expect_plain_sums(network, size, 2);
  }
}

TEST(TreeSums, EqualThePlainSumsWhateverLinksDo) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto size = static_cast<std::uint32_t>(2 + seed % 9);
    Network network(size, random_edges(seed, size), seed, true);
    for (int round = 0; round < 800; ++round) network.advance();
    expect_plain_sums(network, size, 5);
  }
}

// One agent alone answers its own questions.
TEST(TreeSums, OfOneMemberAreItsOwnNumbers) {
  Network network(1, {}, 1, false);
  for (int round = 0; round < 10; ++round) network.advance();
  expect_plain_sums(network, 1, 9);
}

/// The sum of the agents' fixed-point numbers, in any order the same.
std::vector<double> fixed_point_sum(std::uint32_t size, std::size_t question) {
  const FixedPoint shape{.numbers = 3, .members = size};
  std::vector<std::uint64_t> words(shape.words());
  for (std::uint32_t i = size; i-- > 0;) {
    std::vector<double> own;
    for (std::size_t k = 0; k < 3; ++k)
      own.push_back(number_of(i, static_cast<double>(question), k));
    add_words(shape, shape.encode(own, {}), words);
  }
  return shape.decode(words).numbers;
}

// The masks cancel to the last bit, over any tree, whatever links do.
TEST(MaskedSums, EqualTheSumsOfFixedPointNumbersBitForBit) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto size = static_cast<std::uint32_t>(3 + seed % 8);
    const bool faults = seed % 2 == 0;
    Network network(size, random_edges(seed, size), seed, faults, true);
    for (int round = 0; round < (faults ? 800 : 80); ++round) network.advance();
    expect_plain_sums(network, size, 2);
    for (std::size_t question = 0; question < network.totals.size(); ++question) {
      EXPECT_EQ(network.totals[question].numbers, fixed_point_sum(size, question));
      EXPECT_EQ(network.totals[question].overflowed, 0u);
      EXPECT_EQ(network.totals[question].refused, 0u);
    }
  }
}

// Beyond 50 members not every pair has a mask.
TEST(MaskedSums, CancelAmongMembersThatHaveFewPartners) {
  constexpr std::uint32_t size = 64;
  Network network(size, random_edges(5, size), 5, false, true);
  for (int round = 0; round < 60; ++round) network.advance();
  expect_plain_sums(network, size, 1);
  EXPECT_EQ(network.totals[0].numbers, fixed_point_sum(size, 0));
}

// One of two members would know the other's numbers from the total.
TEST(MaskedSums, AreNotMadeOfTwoMembers) {
  Network network(2, {{0, 1}}, 1, false, true);
  for (int round = 0; round < 40; ++round) network.advance();
  EXPECT_TRUE(network.totals.empty());
}

}  // namespace
}  // namespace grove
