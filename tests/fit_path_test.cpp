#include "grove/train/fit_path.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "grove/base/random.h"

namespace grove {
namespace {

namespace fs = std::filesystem;

/// y depends on a and b of six columns; three sites of 40 rows.
std::vector<std::string> write_sites(const fs::path& folder) {
  KeyedRandom random({.seed = 12, .purpose = Purpose::synthetic});
  std::vector<std::string> files;
  for (int site = 0; site < 3; ++site) {
    const fs::path file = folder / fmt::format("site{}.csv", site);
    std::ofstream out(file);
    out << "y,label,a,b,c,d,e,f\n";
    for (int row = 0; row < 40; ++row) {
      double x[6];
      for (double& entry : x) entry = random.normal();
      const double eta = 1 + 2 * x[0] - x[1];
      out << fmt::format("{},{},{},{},{},{},{},{}\n", eta + random.normal(),
                         random.uniform() < 1 / (1 + std::exp(-eta)) ? 1 : 0, x[0], 10 * x[1], x[2],
                         x[3], x[4], x[5]);
    }
    files.push_back(file.string());
  }
  return files;
}

class FitPathTest : public testing::Test {
 protected:
  FitPathTest() {
    std::string name = testing::TempDir() + "/grove-path-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    config_.no_reference = true;
    config_.l1 = 1;  // columns of a penalized fit
  }
  ~FitPathTest() override { fs::remove_all(folder_); }

  FitData read(const std::string& formula, Family::Kind family) {
    options_ = {
        .formula = formula, .sites = write_sites(folder_), .family = {family}, .standardize = true};
    auto data = read_fit_data(options_, config_);
    EXPECT_TRUE(data) << data.error().text();
    return *data;
  }

  fs::path folder_;
  Config config_;
  FitOptions options_;
};

/// At every weight: |gradient| <= l1 where a coefficient is zero, = l1 against its sign elsewhere.
TEST_F(FitPathTest, EveryPointIsOptimal) {
  for (const auto& [formula, family] :
       {std::pair{"y ~ a + b + c + d + e + f", Family::Kind::gaussian},
        {"label ~ a + b + c + d + e + f", Family::Kind::binomial}}) {
    const FitData data = read(formula, family);
    const auto weights = path_weights(data, 0, 12);
    const auto path = fit_path(options_, config_, data, weights);
    ASSERT_TRUE(path) << path.error().text();
    const auto objectives = objectives_of(data, 0);
    std::vector<const Objective*> parts;
    for (const auto& objective : objectives) parts.push_back(objective.get());
    const auto mean = make_mean_objective(std::move(parts));
    ObjectiveScratch scratch;
    for (const PathPoint& point : path->points) {
      EXPECT_TRUE(point.converged) << point.l1;
      Vector gradient;
      mean->evaluate(point.scaled, Batch::all(), &gradient, nullptr, scratch);
      EXPECT_NEAR(gradient[6], 0, 1e-9);
      for (Index k = 0; k < 6; ++k) {
        if (point.scaled[k] == 0)
          EXPECT_LE(std::abs(gradient[k]), point.l1 * (1 + 1e-6));
        else
          EXPECT_NEAR(gradient[k], -std::copysign(point.l1, point.scaled[k]), 1e-9);
      }
    }
    EXPECT_EQ(path->points.front().nonzeros, 0U);
    EXPECT_GE(path->points.back().nonzeros, 2U);
    EXPECT_LT(path->points.back().deviance, path->null_deviance);
  }
}

TEST_F(FitPathTest, TheLargestWeightIsTheLeastThatLeavesNoTerm) {
  const FitData data = read("label ~ a + b + c", Family::Kind::binomial);
  const double largest = largest_l1(data, 0);
  const auto path = fit_path(options_, config_, data, {1.001 * largest, 0.999 * largest});
  ASSERT_TRUE(path);
  EXPECT_EQ(path->points[0].nonzeros, 0U);
  EXPECT_EQ(path->points[1].nonzeros, 1U);
}

TEST_F(FitPathTest, CrossValidationFindsTheColumnsThatMatter) {
  const FitData data = read("y ~ a + b + c + d + e + f", Family::Kind::gaussian);
  const auto weights = path_weights(data, 0, 15);
  const auto choice = cross_validate(options_, config_, data, weights, 5);
  ASSERT_TRUE(choice) << choice.error().text();
  EXPECT_LE(choice->one_standard_error, choice->best);
  for (const double mean : choice->mean) EXPECT_GE(mean, choice->mean[choice->best]);
  EXPECT_LE(choice->mean[choice->one_standard_error],
            choice->mean[choice->best] + choice->std_error[choice->best]);
  // The noise has variance 1, the response about 6.
  EXPECT_NEAR(choice->mean[choice->best], 1, 0.4);
  EXPECT_GT(choice->mean.front(), 4);
  const auto path = fit_path(options_, config_, data, weights);
  const Vector& chosen = path->points[choice->one_standard_error].coefficients;
  EXPECT_GT(chosen[0], 1);
  EXPECT_LT(chosen[1], -0.05);
}

TEST_F(FitPathTest, AnEarlierModelIsAStart) {
  const FitData data = read("y ~ a + b + c", Family::Kind::gaussian);
  config_.l1 = 0;
  const auto cold = fit(options_, config_, data);
  ASSERT_TRUE(cold);
  const Vector start = start_from(cold->model, data);
  EXPECT_LT((start - cold->scaled).norm(), 1e-12);
  const auto warm = fit(options_, config_, data, {}, start);
  ASSERT_TRUE(warm);
  EXPECT_LE(warm->record.outcome.rounds, cold->record.outcome.rounds);
  EXPECT_NEAR(warm->model.coefficients[0], cold->model.coefficients[0], 1e-10);
}

/// glmnet: the largest useful weight of the admissions data on standardized columns.
TEST(FitPath, StartsWhereGlmnetDoes) {
  const char* given = std::getenv("GROVE_DATA_DIR");
  const fs::path root = given == nullptr ? fs::path(GROVE_SOURCE_DIR) / "../shared/data" : given;
  FitOptions options{.formula = "admit ~ gre + gpa + C(rank)",
                     .family = {Family::Kind::binomial},
                     .standardize = true};
  for (const char* site : {"a", "b", "c"}) {
    const fs::path file = root / "sites" / fmt::format("binomial-{}.csv", site);
    if (!fs::exists(file)) GTEST_SKIP() << file << " is absent: set GROVE_DATA_DIR";
    options.sites.push_back(file.string());
  }
  Config config;
  config.l1 = 1;
  const auto data = read_fit_data(options, config);
  ASSERT_TRUE(data) << data.error().text();
  EXPECT_NEAR(largest_l1(*data, 0), 0.0858548493, 1e-10);
}

}  // namespace
}  // namespace grove
