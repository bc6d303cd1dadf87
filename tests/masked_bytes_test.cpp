// All that members of a masked network send, not only their answers. f_k is the mean logistic loss
// of 30 rows of member k, on a path of four.
#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "support/tree_network.h"

namespace grove::testing_support {
namespace {

std::shared_ptr<GlmObjective> rows_of_site(std::uint64_t site) {
  KeyedRandom random({.seed = 11, .purpose = Purpose::synthetic, .agent = site});
  GlmObjective::Data data{Matrix(30, 10), Vector(30), GlmFamily::logistic, 1e-2};
  for (Index row = 0; row < 30; ++row) {
    for (Index column = 0; column < 10; ++column)
      data.rows(row, column) = random.normal() + static_cast<double>(site);
    data.targets[row] = random.uniform() < 0.3 + 0.1 * static_cast<double>(site) ? 1 : 0;
  }
  return std::make_shared<GlmObjective>(data);
}

/// What a whole run sends, by sender: sums of answers, by wave, and all else in order.
struct Traffic {
  std::map<std::uint32_t, std::map<WaveId, std::vector<std::uint64_t>>> words;
  std::map<std::uint32_t, std::string> rest;
  Vector answer;
};

Traffic traffic_of(const std::array<std::uint64_t, 4>& sites, bool masked) {
  TreeProblem problem{.parts = {}, .edges = {{0, 1}, {1, 2}, {2, 3}}, .masked = masked};
  for (const std::uint64_t site : sites) problem.parts.push_back(rows_of_site(site));
  Traffic traffic;
  problem.sent = [&](std::uint32_t from, const Message& message) {
    const TreeFields& tree = *message.tree;
    ByteWriter rest;
    rest.put(message.sequence);
    rest.put(tree.table_digest);
    rest.put(tree.wave_known);
    rest.put(tree.sum_held);
    for (const std::uint32_t word : tree.table) rest.put(word);
    if (tree.wave) {
      rest.put(tree.wave->id);
      rest.put(tree.wave->tree);
      rest.put(tree.wave->root);
      rest.put(tree.wave->kind);
      rest.put(tree.wave->coarseness);
      rest.put(tree.wave->numbers);
      for (const std::uint32_t word : tree.wave->support) rest.put(word);
    }
    if (tree.sum) {
      rest.put(tree.sum->wave);
      rest.put(tree.sum->members);
      rest.put(tree.sum->count);
      rest.put(tree.sum->numbers);
      for (const float number : tree.sum->matrix) rest.put(number);
      traffic.words[from][tree.sum->wave] = {tree.sum->words.begin(), tree.sum->words.end()};
    }
    traffic.rest[from] += rest.bytes();
  };
  TreeNetwork network(problem, {});
  while (!network.finished() && network.round() < 200) network.advance();
  EXPECT_TRUE(network.finished());
  traffic.answer = network.agents()[0]->estimate();
  return traffic;
}

/// Pearson's statistic of the bytes against equal frequencies, in standard deviations from its
/// mean.
double unevenness(const std::map<WaveId, std::vector<std::uint64_t>>& sums) {
  std::array<double, 256> counts{};
  double total = 0, statistic = 0;
  for (const auto& [wave, words] : sums)
    for (const std::uint64_t word : words)
      for (int k = 0; k < 64; k += 8) counts[word >> k & 255] += 1, total += 1;
  for (const double count : counts)
    statistic += (count - total / 256) * (count - total / 256) / (total / 256);
  return (statistic - 255) / std::sqrt(2 * 255.0);
}

// Two sites change places: the total of every question is the same to the last bit, and with it the
// way to the answer. Whoever sees all that all members send sees nothing that tells which site sits
// where: every byte beside the words is the same, and the words are uniform in both runs.
TEST(MaskedRun, SendsTheSameBytesWhereverASiteSits) {
  const Traffic one = traffic_of({0, 1, 2, 3}, true), other = traffic_of({3, 1, 2, 0}, true);
  EXPECT_EQ(one.answer, other.answer);
  EXPECT_EQ(one.rest, other.rest);
  std::size_t differing = 0;
  for (const std::uint32_t leaf : {0u, 3u}) {
    EXPECT_GE(one.words.at(leaf).size(), 4u);
    EXPECT_LT(std::abs(unevenness(one.words.at(leaf))), 5);
    EXPECT_LT(std::abs(unevenness(other.words.at(leaf))), 5);
    for (const auto& [wave, words] : one.words.at(leaf))
      differing += words != other.words.at(leaf).at(wave);
  }
  EXPECT_GT(differing, 0u) << "the words carry the data";
}

// The same test finds the data where nothing is masked.
TEST(OpenRun, SendsOtherBytesWhereAnotherSiteSits) {
  const Traffic one = traffic_of({0, 1, 2, 3}, false), other = traffic_of({3, 1, 2, 0}, false);
  EXPECT_NE(one.rest, other.rest);
}

}  // namespace
}  // namespace grove::testing_support
