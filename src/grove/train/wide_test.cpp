// Many coefficients: sparse link weights find the optima that other forms and programs find.
#include <cmath>
#include <filesystem>
#include <random>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "grove/train/problem.h"

namespace grove {
namespace {

namespace fs = std::filesystem;

/// The numbers of numpy's RandomState.
class Numbers {
 public:
  explicit Numbers(std::uint32_t seed) : engine_(seed) {}
  double uniform() {
    const double high = engine_() >> 5, low = engine_() >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
  }
  double normal() {
    if (has_kept_) {
      has_kept_ = false;
      return kept_;
    }
    double first = 0, second = 0, square = 0;
    do {
      first = 2 * uniform() - 1;
      second = 2 * uniform() - 1;
      square = first * first + second * second;
    } while (square >= 1 || square == 0);
    const double factor = std::sqrt(-2 * std::log(square) / square);
    kept_ = factor * first;
    has_kept_ = true;
    return factor * second;
  }

 private:
  std::mt19937 engine_;
  double kept_ = 0;
  bool has_kept_ = false;
};

struct Wide {
  std::vector<std::vector<std::int32_t>> rows;  ///< columns whose entries are not zero
  std::vector<double> targets;
  Index columns;
};

/// Rows of features that are drawn by popularity, about 1/(rank + 3), of unit length; labels from
/// a few true coefficients.
Wide make_wide(std::uint32_t seed, Index samples, Index columns, int draws, Index true_count) {
  Numbers numbers(seed);
  std::vector<double> popularity(static_cast<std::size_t>(columns));
  double total = 0;
  for (Index k = 0; k < columns; ++k) total += 1 / (static_cast<double>(k) + 3);
  double sum = 0;
  for (Index k = 0; k < columns; ++k) {
    sum += 1 / (static_cast<double>(k) + 3) / total;
    popularity[static_cast<std::size_t>(k)] = sum;
  }
  Wide wide{.rows = {}, .targets = {}, .columns = columns};
  for (Index j = 0; j < samples; ++j) {
    auto& row = wide.rows.emplace_back();
    for (int k = 0; k < draws; ++k)
      row.push_back(static_cast<std::int32_t>(
          std::min(columns - 1,
                   std::ranges::lower_bound(popularity, numbers.uniform()) - popularity.begin())));
    std::ranges::sort(row);
    row.erase(std::unique(row.begin(), row.end()), row.end());
  }
  std::vector<double> truth(static_cast<std::size_t>(columns));
  for (Index k = 0; k < true_count; ++k) truth[static_cast<std::size_t>(k)] = 3 * numbers.normal();
  for (const auto& row : wide.rows) {
    double margin = 0;
    for (const std::int32_t k : row)
      margin += truth[static_cast<std::size_t>(k)] / std::sqrt(static_cast<double>(row.size()));
    wide.targets.push_back(numbers.uniform() < 1 / (1 + std::exp(-margin)) ? 1 : 0);
  }
  return wide;
}

/// Compressed rows. `column_of` lists the columns that each feature stands in.
struct Csr {
  std::vector<std::int32_t> offsets{0}, indices;
  std::vector<double> values;
  Index columns;

  CsrView view() const {
    return {offsets.data(), indices.data(), values.data(), std::ssize(offsets) - 1, columns};
  }
};

using Columns = std::vector<std::vector<std::int32_t>>;

Columns as_they_are(Index columns) {
  Columns result;
  for (Index k = 0; k < columns; ++k) result.push_back({static_cast<std::int32_t>(k)});
  return result;
}

Csr compress(const Wide& wide, const Columns& columns_of, Index columns) {
  Csr csr;
  csr.columns = columns;
  for (const auto& row : wide.rows) {
    std::vector<std::int32_t> entries;
    for (const std::int32_t k : row)
      for (const std::int32_t to : columns_of[static_cast<std::size_t>(k)]) entries.push_back(to);
    std::ranges::sort(entries);
    csr.indices.insert(csr.indices.end(), entries.begin(), entries.end());
    csr.values.insert(csr.values.end(), entries.size(),
                      1 / std::sqrt(static_cast<double>(row.size())));
    csr.offsets.push_back(static_cast<std::int32_t>(csr.indices.size()));
  }
  return csr;
}

Csr compress(const Wide& wide) { return compress(wide, as_they_are(wide.columns), wide.columns); }

RunRecord must_train(const Csr& csr, const std::vector<double>& targets, const Options& options,
                     const RunHooks& hooks = {}) {
  const auto problem = Problem::from_samples(csr.view(), targets);
  EXPECT_TRUE(problem) << problem.error().text();
  auto record = run(*problem, options, hooks);
  EXPECT_TRUE(record) << record.error().text();
  return record ? *record : RunRecord{};
}

Options options_of(double l1, std::uint64_t agents, const std::string& graph) {
  Options options;
  options.l1 = l1;
  options.agents = agents;
  options.graph = graph;
  options.threads = 1;
  options.penalty = LinkWeightForm{LinkWeightShape::sparse};
  return options;
}

Round first_round_within(const RunRecord& record, double gap) {
  for (const TracePoint& point : record.trace)
    if (*point.objective_gap <= gap * record.reference->objective) return point.round;
  return ~Round{0};
}

struct Known {
  std::uint32_t seed;
  Index samples, columns;
  int draws;
  Index true_count;
  double l1, l2;
  std::uint64_t agents;
  const char* graph;
  double optimum;
  Index nonzeros;
};

constexpr Round most_rounds = 30;  ///< to a relative gap of 1e-6, however rows are dealt out

// Optima and numbers of non-zeros come from another program.
TEST(Wide, FindsTheKnownOptima) {
  for (const Known& known : {Known{1, 600, 2000, 12, 60, 1e-3, 0, 4, "ring", 0.527557614, 55},
                             Known{2, 1200, 3000, 15, 80, 5e-4, 1e-6, 6, "ring", 0.513811176, 89},
                             Known{3, 2000, 5000, 20, 120, 5e-4, 0, 8, "star", 0.535397015, 85}}) {
    const Wide wide =
        make_wide(known.seed, known.samples, known.columns, known.draws, known.true_count);
    for (const std::uint64_t partition : {1, 2, 3}) {
      Options options = options_of(known.l1, known.agents, known.graph);
      options.seed = partition;
      options.l2 = known.l2;
      options.tolerance = 1e-9;
      const RunRecord record = must_train(compress(wide), wide.targets, options);
      EXPECT_NEAR(record.reference->objective, known.optimum, 6e-10) << known.seed;
      EXPECT_NEAR(record.objective, known.optimum, 2e-9) << known.seed;
      EXPECT_EQ((record.reference->solution.array() != 0).count(), known.nonzeros) << known.seed;
      EXPECT_EQ(record.outcome.status, RunStatus::converged) << known.seed;
      EXPECT_LE(first_round_within(record, 1e-6), most_rounds) << known.seed << ", " << partition;
    }
  }
}

Wide small_wide() { return make_wide(4, 240, 300, 10, 40); }

TEST(Wide, IsTheDefaultAboveTwoThousandCoefficientsAndWithL1AboveOneThousand) {
  for (const auto& [columns, l1, penalty] :
       {std::tuple{2500, 2e-3, "sparse"}, std::tuple{2500, 0.0, "sparse"},
        std::tuple{1100, 2e-3, "sparse"}, std::tuple{400, 2e-3, "full"},
        std::tuple{400, 0.0, "low-rank:20"}}) {
    const Wide wide = make_wide(1, 300, columns, 12, 60);
    Options options = options_of(l1, 3, "path");
    options.l2 = 1e-2;
    options.penalty = {};
    const RunRecord record = must_train(compress(wide), wide.targets, options);
    EXPECT_EQ(record.outcome.status, RunStatus::converged) << columns << ", " << l1;
    EXPECT_EQ(record.config.at("penalty"), penalty) << columns << ", " << l1;
  }
}

TEST(Wide, SparseAndFullWeightsFindOneOptimum) {
  const Wide wide = small_wide();
  for (const double l2 : {0.0, 1e-3}) {
    Options options = options_of(2e-3, 5, "ring");
    options.l2 = l2;
    options.intercept = true;
    options.tolerance = 1e-11;
    const RunRecord sparse = must_train(compress(wide), wide.targets, options);
    options.penalty = LinkWeightForm{LinkWeightShape::full};
    const RunRecord full = must_train(compress(wide), wide.targets, options);
    EXPECT_EQ(sparse.outcome.status, RunStatus::converged);
    EXPECT_NEAR(sparse.objective, full.objective, 1e-10 * full.objective);
    EXPECT_NEAR(sparse.objective, sparse.reference->objective, 1e-10 * full.objective);
  }
}

TEST(Wide, EveryLossConverges) {
  const Wide wide = small_wide();
  std::vector<double> targets = wide.targets;
  for (const Loss& loss :
       {Loss(SquaredLoss{}), Loss(HuberLoss{0.3}), Loss(PoissonLoss{}), Loss(SquaredHingeLoss{})}) {
    Options options = options_of(2e-3, 4, "ring");
    options.loss = loss;
    options.intercept = true;
    options.l2 = 1e-4;
    options.tolerance = 1e-8;
    const RunRecord record = must_train(compress(wide), targets, options);
    EXPECT_EQ(record.outcome.status, RunStatus::converged) << name_of(loss);
    EXPECT_NEAR(record.objective, record.reference->objective, 1e-8 * record.objective)
        << name_of(loss);
  }
}

TEST(Wide, BoundsAndNoL1) {
  const Wide wide = small_wide();
  Options options = options_of(0, 4, "ring");
  options.l2 = 1e-3;
  options.tolerance = 1e-8;
  EXPECT_EQ(must_train(compress(wide), wide.targets, options).outcome.status, RunStatus::converged);
  options.l1 = 1e-3;
  options.constraint = {.low = 0, .high = 2};
  const RunRecord bounded = must_train(compress(wide), wide.targets, options);
  EXPECT_EQ(bounded.outcome.status, RunStatus::converged);
  EXPECT_GE(bounded.solution.minCoeff(), 0);
  EXPECT_LE(bounded.solution.maxCoeff(), 2);
}

TEST(Wide, ColumnsMayBePermutedDuplicatedAndEmpty) {
  const Wide wide = small_wide();
  Options options = options_of(2e-3, 4, "ring");
  options.tolerance = 1e-9;
  const RunRecord plain = must_train(compress(wide), wide.targets, options);
  Columns backwards, twice, apart;
  for (std::int32_t k = 0; k < 300; ++k) {
    backwards.push_back({299 - k});
    twice.push_back({k, 300 + k});
    apart.push_back({7 * k + 3});
  }
  const auto check = [&](const Columns& columns, Index count) {
    const RunRecord other = must_train(compress(wide, columns, count), wide.targets, options);
    EXPECT_EQ(other.outcome.status, RunStatus::converged) << count;
    EXPECT_NEAR(other.objective, plain.objective, 1.1e-9 * plain.objective) << count;
    return other;
  };
  check(backwards, 300);
  check(twice, 600);
  const RunRecord spread = check(apart, 2200);
  for (Index k = 0; k < 300; ++k)
    EXPECT_EQ(spread.solution[7 * k + 3] == 0, plain.solution[k] == 0) << k;
}

TEST(Wide, SurvivesLossDelayAndAbsence) {
  const Wide wide = make_wide(4, 400, 2500, 12, 40);
  for (const char* kind : {"loss", "delay", "absence"}) {
    Options options = options_of(2e-3, 5, "ring");
    options.link = LinkKind::edge;
    options.tolerance = 1e-7;
    if (kind[0] == 'l') options.loss_rate = 0.2;
    if (kind[0] == 'd') options.delay = 3;
    if (kind[0] == 'a') options.participation = "0.4";
    const RunRecord record = must_train(compress(wide), wide.targets, options);
    EXPECT_EQ(record.outcome.status, RunStatus::converged) << kind;
    EXPECT_NEAR(record.objective, record.reference->objective, 2e-7 * record.objective) << kind;
  }
}

TEST(Wide, ContinuesFromACheckpointBitByBit) {
  const Wide wide = make_wide(4, 400, 2500, 12, 40);
  const fs::path folder = fs::temp_directory_path() / fmt::format("grove-wide-{}", ::getpid());
  Options options = options_of(2e-3, 5, "ring");
  options.tolerance = 0;
  options.rounds = 16;
  const RunRecord whole = must_train(compress(wide), wide.targets, options);
  options.checkpoint = folder.string();
  for (const std::uint64_t rounds : {1, 2, 5, 9, 16}) {
    options.rounds = rounds;
    const RunRecord part = must_train(compress(wide), wide.targets, options);
    if (rounds == 16) {
      EXPECT_EQ(part.solution, whole.solution);
    }
  }
  fs::remove_all(folder);
}

TEST(Wide, SaysWhatItCannotDo) {
  const Wide wide = small_wide();
  const Csr csr = compress(wide);
  const auto problem = Problem::from_samples(csr.view(), wide.targets);
  ASSERT_TRUE(problem);
  Options options = options_of(1e-3, 3, "ring");
  options.sampling = SamplingKind::adaptive;
  const auto refused = run(*problem, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "--penalty");
  EXPECT_NE(refused.error().what.find("--sampling full"), std::string::npos);
}

}  // namespace
}  // namespace grove
