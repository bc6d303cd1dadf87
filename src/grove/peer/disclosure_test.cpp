#include "grove/peer/disclosure.h"

#include <gtest/gtest.h>

namespace grove::peer {
namespace {

/// Rows with one numeric column (all values differ), one binary column and a class.
struct Site {
  explicit Site(Index rows) {
    DenseRows features(rows, 2);
    samples.targets.resize(rows);
    for (Index k = 0; k < rows; ++k) {
      features(k, 0) = 0.5 + static_cast<double>(k);
      features(k, 1) = k % 2 == 0 ? 1 : 0;
      samples.targets[k] = k % 3 == 0 ? 1 : 0;
    }
    samples.features = features;
  }
  std::string rule(const DisclosureRules& rules = {}, Index coefficients = 3,
                   std::uint64_t members = 3) const {
    const auto violation = find_violation(rules, {.samples = samples,
                                                  .columns = columns,
                                                  .classes = true,
                                                  .coefficients = coefficients,
                                                  .members = members});
    return violation ? violation->rule : std::string();
  }
  Samples samples;
  std::optional<ColumnNames> columns = ColumnNames{{"age", "sex"}, "outcome"};
};

TEST(Disclosure, AllowsAnOrdinarySite) { EXPECT_EQ(Site(12).rule(), ""); }

TEST(Disclosure, NamesTheRuleThatForbids) {
  EXPECT_EQ(Site(9).rule(), "disclosure.min-rows");
  EXPECT_EQ(Site(12).rule({}, 5), "disclosure.max-ratio");
  EXPECT_EQ(Site(12).rule({}, 4), "");  // exactly a third
  EXPECT_EQ(Site(12).rule({}, 3, 2), "disclosure.min-members");
  EXPECT_EQ(Site(12).rule({.columns = {"age"}}), "disclosure.columns");
  EXPECT_EQ(Site(12).rule({.columns = {"age", "sex", "bmi"}}), "");
  EXPECT_EQ(Site(9).rule({.min_rows = 5, .max_ratio = 0.5}), "");
}

TEST(Disclosure, FindsARareValueOfABinaryColumnAndARareClass) {
  Site site(30);
  auto& features = std::get<DenseRows>(site.samples.features);
  features.col(1).setZero();
  features(3, 1) = features(4, 1) = 1;
  EXPECT_EQ(site.rule(), "disclosure.min-count");
  features(5, 1) = 1;
  EXPECT_EQ(site.rule(), "");
  features(6, 1) = 2;  // three values: not binary
  features(3, 1) = features(5, 1) = 0;
  EXPECT_EQ(site.rule(), "");
  site.samples.targets.setZero();
  EXPECT_EQ(site.rule(), "disclosure.min-count");
}

TEST(Disclosure, FindsARareValueInSparseData) {
  Site site(30);
  SparseRows sparse(30, 2);
  for (int k = 0; k < 30; ++k) sparse.insert(k, 0) = 1.5 + k;
  sparse.insert(7, 1) = 1;
  sparse.makeCompressed();
  site.samples.features = sparse;
  EXPECT_EQ(site.rule(), "disclosure.min-count");
}

}  // namespace
}  // namespace grove::peer
