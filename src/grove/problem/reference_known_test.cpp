// The known answers of math.md, section 7, found by an independent implementation.

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "grove/data/dataset.h"
#include "grove/problem/reference.h"

namespace grove {
namespace {

/// Ten shards of rows 0, 12, 24, ... of ijcnn1: agent i holds every tenth of those, from the i-th.
struct Instance {
  std::vector<std::unique_ptr<const Objective>> shards;
  std::unique_ptr<const Objective> mean;
};

Instance section_seven(const Samples& samples) {
  Instance instance;
  std::vector<const Objective*> parts;
  for (std::uint32_t agent = 0; agent < 10; ++agent) {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t k = agent; k < 4000; k += 10) rows.push_back(12 * k);
    instance.shards.push_back(make_shard_objective(take_rows(samples, rows), {}));
    parts.push_back(instance.shards.back().get());
  }
  instance.mean = make_mean_objective(parts);
  return instance;
}

class KnownAnswers : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("GROVE_DATA_DIR");
    if (folder == nullptr) GTEST_SKIP() << "GROVE_DATA_DIR is not set: no ijcnn1.bz2 to test with";
    const auto file = std::filesystem::path(folder) / "ijcnn1.bz2";
    if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there: set GROVE_DATA_DIR";
    auto dataset = load_dataset(file.string(), TargetKind::two_classes, 1);
    ASSERT_TRUE(dataset) << dataset.error().text();
    instance_ = section_seven(dataset->samples);
  }

  Instance instance_;
};

TEST_F(KnownAnswers, OptimaOfSectionSeven) {
  struct Row {
    double l1, objective;
    Index nonzeros;
    double norm;
  };
  for (const Row& want : {Row{2e-6, 0.15194076859479475, 17, 30.917401712269935},
                          Row{1e-3, 0.21191828866243162, 12, 19.486784582431284}})
    for (const Index dense_limit : {Index{2000}, Index{0}}) {
      const auto got = solve_reference(*instance_.mean, {.l1 = want.l1, .regularized = 22},
                                       {.dense_limit = dense_limit});
      ASSERT_TRUE(got) << got.error().text();
      EXPECT_NEAR(got->objective, want.objective, 1e-12 * want.objective);
      EXPECT_EQ((got->x.array() != 0).count(), want.nonzeros);
      EXPECT_NEAR(got->x.norm(), want.norm, 1e-11 * want.norm);
    }
}

// The L of the PG-EXTRA row: the largest of the agents' smoothness constants.
TEST_F(KnownAnswers, LargestSmoothnessOfSectionSeven) {
  double largest = 0;
  for (const auto& shard : instance_.shards) largest = std::max(largest, shard->smoothness());
  EXPECT_NEAR(largest, 0.2963207668901078, 1e-14);
}

}  // namespace
}  // namespace grove
