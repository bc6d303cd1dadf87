#include "grove/data/partition.h"

#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "grove/data/dataset.h"
#include "grove/data/test_files.h"

namespace grove {
namespace {

using testing_files::TestFolder;

/// Only the targets matter to a partition; every third sample is positive.
Samples samples_of(Index count) {
  Samples samples;
  samples.features = DenseRows(DenseRows::Ones(count, 1));
  samples.targets = Vector::Zero(count);
  for (Index row = 0; row < count; row += 3) samples.targets[row] = 1;
  return samples;
}

/// Empty if the shards hold every row once, in order within each agent, and no agent is empty.
std::string flaw(const Shards& shards, std::size_t samples, std::size_t agents) {
  if (shards.size() != agents) return "wrong number of agents";
  std::vector<int> seen(samples, 0);
  for (const auto& shard : shards) {
    if (shard.empty()) return "an agent without rows";
    if (!std::is_sorted(shard.begin(), shard.end())) return "rows out of order";
    for (const auto row : shard)
      if (row >= samples || seen[row]++ > 0) return "a row twice or unknown";
  }
  const auto total = static_cast<std::size_t>(std::accumulate(seen.begin(), seen.end(), 0));
  return total == samples ? "" : "a row is missing";
}

RC_GTEST_PROP(Partition, HoldsEveryRowOnceAndLeavesNoAgentEmpty, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(1, 200);
  const auto agents = *rc::gen::inRange<std::size_t>(1, count + 1);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto description = *rc::gen::element<std::string>(
      "even", "stride", "label-skew:0.05", "label-skew:1", "label-skew:1e-6", "size-skew:0.05",
      "size-skew:10", "size-skew:1e6");
  const auto shards = partition(samples_of(static_cast<Index>(count)), description, agents, seed);
  RC_ASSERT(static_cast<bool>(shards));
  RC_ASSERT(flaw(*shards, count, agents) == "");
  const auto again = partition(samples_of(static_cast<Index>(count)), description, agents, seed);
  RC_ASSERT(*again == *shards);
}

TEST(Partition, EvenIsShuffledWithSizesThatDifferByAtMostOne) {
  const auto shards = partition(samples_of(103), "even", 10, 1);
  ASSERT_TRUE(shards);
  std::size_t neighbours = 0;
  for (const auto& shard : *shards) {
    EXPECT_TRUE(shard.size() == 10 || shard.size() == 11);
    for (std::size_t k = 1; k < shard.size(); ++k) neighbours += shard[k] == shard[k - 1] + 1;
  }
  EXPECT_LT(neighbours, 40u);  // 93 would mean contiguous runs of the file
  EXPECT_NE(*shards, *partition(samples_of(103), "even", 10, 2));
}

TEST(Partition, StrideDealsRowsInTurn) {
  const auto shards = partition(samples_of(7), "stride", 3, 1);
  EXPECT_EQ(*shards, (Shards{{0, 3, 6}, {1, 4}, {2, 5}}));
}

/// The mean over agents of the squared distance between the agent's and the overall share of
/// positives.
double label_imbalance(const Samples& samples, const Shards& shards) {
  double sum = 0;
  for (const auto& shard : shards) {
    double positives = 0;
    for (const auto row : shard) positives += samples.targets[row];
    sum += std::pow(positives / static_cast<double>(shard.size()) - samples.targets.mean(), 2);
  }
  return sum / static_cast<double>(shards.size());
}

double size_imbalance(const Shards& shards, std::size_t samples) {
  double sum = 0;
  for (const auto& shard : shards)
    sum += std::pow(static_cast<double>(shard.size()) / static_cast<double>(samples), 2);
  return sum * static_cast<double>(shards.size());
}

TEST(Partition, SkewsLessAsTheConcentrationGrows) {
  const Samples samples = samples_of(6000);
  double label_low = 0, label_high = 0, size_low = 0, size_high = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    label_low += label_imbalance(samples, *partition(samples, "label-skew:0.1", 10, seed));
    label_high += label_imbalance(samples, *partition(samples, "label-skew:1000", 10, seed));
    size_low += size_imbalance(*partition(samples, "size-skew:0.1", 10, seed), 6000);
    size_high += size_imbalance(*partition(samples, "size-skew:1000", 10, seed), 6000);
  }
  EXPECT_GT(label_low / 5, 0.05);
  EXPECT_LT(label_high / 5, 0.002);
  EXPECT_GT(size_low / 5, 2);           // 10 would be one agent with everything
  EXPECT_NEAR(size_high / 5, 1, 0.01);  // 1 is equal sizes
}

// Mean and variance of Gamma(a, 1) are both a; 100000 draws stay within five standard errors, the
// fourth central moment being 3a^2 + 6a. E log Gamma(a) = digamma(a): -10.4237549 at 0.1.
TEST(GammaVariate, HasTheMomentsOfItsLaw) {
  constexpr int draws = 100000;
  for (const double shape : {0.3, 1.0, 4.5}) {
    KeyedRandom random(RandomKey{.seed = 11});
    double sum = 0, squares = 0;
    for (int k = 0; k < draws; ++k) {
      const double value = std::exp(log_gamma_variate(shape, random));
      sum += value;
      squares += (value - shape) * (value - shape);
    }
    EXPECT_NEAR(sum / draws, shape, 5 * std::sqrt(shape / draws));
    EXPECT_NEAR(squares / draws, shape, 5 * std::sqrt((2 * shape * shape + 6 * shape) / draws));
  }
  KeyedRandom random(RandomKey{.seed = 12});
  double logarithms = 0;
  for (int k = 0; k < draws; ++k) logarithms += log_gamma_variate(0.1, random);
  EXPECT_NEAR(logarithms / draws, -10.4237549, 5 * std::sqrt(101.4333 / draws));  // trigamma(0.1)
}

// A part of Dirichlet(a, ..., a) with n parts has mean 1/n and variance (n-1) / (n^2 (n a + 1)).
TEST(Dirichlet, HasTheMomentsOfItsLaw) {
  constexpr std::size_t parts = 4;
  constexpr int draws = 20000;
  for (const double concentration : {0.2, 3.0}) {
    KeyedRandom random(RandomKey{.seed = 5});
    double squares = 0;
    for (int k = 0; k < draws; ++k) {
      const auto drawn = dirichlet(concentration, parts, random);
      EXPECT_NEAR(std::accumulate(drawn.begin(), drawn.end(), 0.0), 1, 1e-12);
      squares += (drawn[0] - 0.25) * (drawn[0] - 0.25);
    }
    const double variance = 3 / (16 * (parts * concentration + 1));
    EXPECT_NEAR(squares / draws, variance, 0.05 * variance);
  }
}

TEST(Partition, ReadsAFileWithOneAgentPerSample) {
  const TestFolder folder;
  const std::string file = folder.write("agents", "1\n0 # the first\n\n 1\r\n2\n");
  EXPECT_EQ(*partition(samples_of(4), file, 3, 1), (Shards{{1}, {0, 2}, {3}}));
}

TEST(Partition, NamesFileAndLineOfABadPartitionFile) {
  const auto error_of = [](std::string_view text) {
    const auto shards = parse_partition(text, "file", 4, 2);
    return shards ? "no error" : shards.error().text();
  };
  EXPECT_EQ(error_of("0\n1\n2\n0\n"), "file:3: expected an agent from 0 to 1, found `2`");
  EXPECT_EQ(error_of("0\n\n-1\n"), "file:3: expected an agent from 0 to 1, found `-1`");
  EXPECT_EQ(error_of("0\n1 1\n"), "file:2: expected an agent from 0 to 1, found `1 1`");
  EXPECT_EQ(error_of("0\n1\n0\n1\n0\n"),
            "file:5: expected one line for each of the 4 samples, found more");
  EXPECT_EQ(error_of("0\n1\n0\n"), "file: expected one line for each of the 4 samples, found 3");
  EXPECT_EQ(error_of("0\n0\n0\n0\n"),
            "file: expected at least one sample for every agent, found none for agent 1");
}

TEST(Partition, NamesTheFlagThatIsWrong) {
  const auto error_of = [](const std::string& description, std::size_t agents) {
    const auto shards = partition(samples_of(5), description, agents, 1);
    return shards ? "no error" : shards.error().text();
  };
  EXPECT_EQ(error_of("even", 6),
            "--agents: expected at most one agent per sample, found 6 agents for 5 samples");
  EXPECT_EQ(error_of("even", 0), "--agents: expected at least 1, found 0");
  for (const std::string bad :
       {"label-skew", "label-skew:", "label-skew:x", "label-skew:0", "label-skew:nan"})
    EXPECT_EQ(
        error_of(bad, 2),
        "--partition: expected label-skew:A with A from 1e-06 to 1000000, found `" + bad + "`");
  EXPECT_EQ(error_of("evn", 2),
            "--partition: `evn` is not a file, did you mean `even`?; expected even, stride, "
            "label-skew:A, size-skew:A or a file");
  Samples numbers = samples_of(5);
  numbers.targets[2] = 0.5;
  EXPECT_EQ(partition(numbers, "label-skew:1", 2, 1).error().text(),
            "--partition: label-skew: expected data with two classes, found numbers");
}

}  // namespace
}  // namespace grove
