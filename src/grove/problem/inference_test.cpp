#include "grove/problem/inference.h"

#include <cmath>

#include <gtest/gtest.h>

namespace grove {
namespace {

Design trees() {  // R's data set `trees`, the first eight rows: Girth, Volume
  Design design;
  design.samples = {
      DenseRows((DenseRows(8, 1) << 8.3, 8.6, 8.8, 10.5, 10.7, 10.8, 11.0, 11.0).finished()),
      (Vector(8) << 10.3, 10.3, 10.2, 16.4, 18.8, 19.7, 15.6, 18.2).finished()};
  return design;
}

ColumnScaling plain(Index features) {
  return {.center = Vector::Zero(features), .scale = Vector::Ones(features)};
}

/// The least squares line by the textbook: slope Sxy/Sxx, error sqrt(s^2/Sxx), t with n - 2
/// degrees.
TEST(Inference, OfALineIsTheTextbooks) {
  const Design design = trees();
  const Vector x = std::get<DenseRows>(design.samples.features).col(0);
  const Vector y = design.samples.targets;
  const Vector dx = x.array() - x.mean();
  const double slope = dx.dot(y) / dx.squaredNorm(), constant = y.mean() - slope * x.mean();
  const double rest = (y - slope * x - Vector::Constant(8, constant)).squaredNorm();
  const InferenceModel model{.family = {Family::Kind::gaussian}};
  const Vector answer = (Vector(2) << slope, constant).finished();
  const auto sums = inference_sums(model, design, answer);
  const auto null_fit = null_sums(model, design, y.mean());
  EXPECT_NEAR(null_fit.score, 0, 1e-12);
  const Inference got = infer(model, sums, null_fit.sums, answer, plain(1), {"Girth"}, {}, {});
  ASSERT_EQ(got.table.size(), 2U);
  EXPECT_EQ(got.table[0].name, "Intercept");
  EXPECT_NEAR(*got.table[1].std_error, std::sqrt(rest / 6 / dx.squaredNorm()), 1e-12);
  EXPECT_NEAR(got.dispersion, rest / 6, 1e-12);
  EXPECT_TRUE(got.uses_t);
  EXPECT_EQ(got.df_residual, 6);
  EXPECT_NEAR(*got.null_deviance, (y.array() - y.mean()).square().sum(), 1e-12);
  // R: qt(0.975, 6)
  EXPECT_NEAR((*got.table[1].high - slope) / *got.table[1].std_error, 2.446911851144969, 1e-12);
}

/// Sums of parts add up to those of the whole, and centred and scaled columns give the same table.
TEST(Inference, DoesNotDependOnSitesOrCoordinates) {
  const Design design = trees();
  const InferenceModel model{.family = {Family::Kind::gamma}};
  const Vector answer = (Vector(2) << 0.2, 0.6).finished();
  const auto whole = inference_sums(model, design, answer, true);
  InferenceSums parts{.information = Matrix::Zero(2, 2), .score_products = Matrix::Zero(2, 2)};
  for (const auto& [first, count] : {std::pair<Index, Index>{0, 3}, {3, 5}}) {
    Design part;
    part.samples = {
        DenseRows(std::get<DenseRows>(design.samples.features).middleRows(first, count)),
        design.samples.targets.segment(first, count)};
    const InferenceSums sums = inference_sums(model, part, answer, true);
    parts.deviance += sums.deviance;
    parts.information += sums.information;
    parts.score_products += sums.score_products;
  }
  EXPECT_NEAR(parts.deviance, whole.deviance, 1e-12);
  EXPECT_LT((parts.information - whole.information).norm(), 1e-9);
  EXPECT_LT((parts.score_products - whole.score_products).norm(), 1e-9);
  const ColumnScaling scaled{.center = Vector::Constant(1, 10), .scale = Vector::Constant(1, 1.3)};
  Design moved = design;
  scaled.apply(moved);
  const Vector inside = scaled.to_scaled(answer);
  EXPECT_LT((scaled.to_original(inside) - answer).norm(), 1e-14);
  for (const bool robust : {false, true}) {
    const Inference a = infer(model, whole, {}, answer, plain(1), {"x"}, {}, {.robust = robust});
    const Inference b = infer(model, inference_sums(model, moved, inside, true), {}, inside, scaled,
                              {"x"}, {}, {.robust = robust});
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_NEAR(a.table[k].estimate, b.table[k].estimate, 1e-12);
      EXPECT_NEAR(*a.table[k].std_error, *b.table[k].std_error, 1e-11);
      EXPECT_NEAR(*a.table[k].p_value, *b.table[k].p_value, 1e-11);
    }
  }
}

TEST(Inference, NamesCollinearColumns) {
  Matrix rows(5, 4);
  rows << 1, 2, 3, 1, 4, 1, 5, 1, 2, 2, 4, 1, 7, 3, 10, 1, 1, 9, 10, 1;  // c = a + b
  const auto found = collinear_columns(rows.transpose() * rows, {"a", "b", "c", "Intercept"});
  EXPECT_EQ(found, (std::vector<std::string>{"a", "b", "c"}));
  const Matrix two = rows.leftCols(2);
  EXPECT_TRUE(collinear_columns(two.transpose() * two, {"a", "b"}).empty());
}

}  // namespace
}  // namespace grove
