#include "grove/coupling/link_weight.h"

#include <cmath>

#include <gtest/gtest.h>

namespace grove {
namespace {

Matrix positive_definite(Index dimension, double condition) {
  Matrix result(dimension, dimension);
  for (Index r = 0; r < dimension; ++r)
    for (Index c = 0; c < dimension; ++c)
      result(r, c) = std::sin(1.0 + static_cast<double>(3 * r + 7 * c * r + c));
  result = Matrix(result * result.transpose());
  result.diagonal().array() += result.diagonal().mean() / condition;
  return result;
}

Matrix dense(const LinkWeight& weight, Index dimension) {
  Matrix result = Matrix::Zero(dimension, dimension);
  weight.add_to(1, result);
  return result.selfadjointView<Eigen::Lower>();
}

class EveryForm : public testing::TestWithParam<LinkWeightForm> {};
INSTANTIATE_TEST_SUITE_P(LinkWeight, EveryForm,
                         testing::Values(LinkWeightForm{LinkWeightShape::scalar},
                                         LinkWeightForm{LinkWeightShape::diagonal},
                                         LinkWeightForm{LinkWeightShape::low_rank, 2},
                                         LinkWeightForm{LinkWeightShape::full}));

TEST_P(EveryForm, MultipliesLikeTheMatrixItAdds) {
  const LinkWeight weight(GetParam(), positive_definite(5, 100));
  const Vector v = Vector::LinSpaced(5, -1, 3);
  Vector product = Vector::Ones(5);
  weight.add_product(0.5, v, product);
  const Vector expected = Vector::Ones(5) + 0.5 * dense(weight, 5) * v;
  EXPECT_LT((product - expected).norm(), 1e-12 * expected.norm());
}

// The two ends of a link pass their vectors in opposite order and must get the same bits.
TEST_P(EveryForm, TwoProductsInOnePassDoNotDependOnTheirOrder) {
  const LinkWeight weight(GetParam(), positive_definite(5, 100));
  const Vector u = Vector::LinSpaced(5, -1, 3), v = Vector::LinSpaced(5, 0.3, -7);
  Vector u_alone = Vector::Ones(5), v_alone = u, u_product = u_alone, v_product = v_alone;
  weight.add_product(1, u, u_alone);
  weight.add_product(1, v, v_alone);
  Vector u_second = u_alone, v_first = v_alone;
  u_second.setOnes();
  v_first = u;
  weight.add_products({&u, &v}, {&u_product, &v_product});
  weight.add_products({&v, &u}, {&v_first, &u_second});
  EXPECT_EQ(u_product, u_second);
  EXPECT_EQ(v_product, v_first);
  EXPECT_LT((u_product - u_alone).norm(), 1e-12 * u_alone.norm());
  EXPECT_LT((v_product - v_alone).norm(), 1e-12 * v_alone.norm());
}

TEST_P(EveryForm, ItsNumbersGiveTheMeanOfItsDiagonal) {
  const LinkWeight weight(GetParam(), positive_definite(5, 100));
  const double expected = dense(weight, 5).diagonal().mean();
  EXPECT_NEAR(LinkWeight::mean_diagonal(GetParam(), 5, weight.numbers()), expected,
              1e-6 * expected);  // eigenvectors in single precision
}

TEST_P(EveryForm, ItsNumbersMakeTheSameWeightAgain) {
  const LinkWeight weight(GetParam(), positive_definite(5, 100));
  EXPECT_EQ(weight.numbers().size(), GetParam().numbers(5));
  const auto copy = LinkWeight::from_numbers(GetParam(), 5, weight.numbers());
  ASSERT_TRUE(copy);
  EXPECT_EQ(dense(*copy, 5), dense(weight, 5));
}

TEST_P(EveryForm, MeansAreThoseOfTheMatricesAndTheSameFromBothSides) {
  const LinkWeight a(GetParam(), positive_definite(5, 100)), b(GetParam(), positive_definite(5, 3));
  const LinkWeight mean = LinkWeight::mean_of(a, b);
  ASSERT_EQ(mean.known(), GetParam().shape != LinkWeightShape::low_rank);
  if (!mean.known()) return;
  const Matrix expected = 0.5 * (dense(a, 5) + dense(b, 5));
  EXPECT_LT((dense(mean, 5) - expected).norm(), 1e-7 * expected.norm());
  EXPECT_EQ(dense(LinkWeight::mean_of(b, a), 5), dense(mean, 5));
}

TEST_P(EveryForm, RefusesNumbersThatAreNoWeight) {
  const std::size_t count = GetParam().numbers(5);
  const std::vector<float> zeros(count, 0.0f), shorter(count - 1, 1.0f), longer(count + 1, 1.0f);
  EXPECT_FALSE(LinkWeight::from_numbers(GetParam(), 5, zeros).value().is_positive_definite());
  EXPECT_FALSE(LinkWeight::from_numbers(GetParam(), 5, shorter));
  EXPECT_FALSE(LinkWeight::from_numbers(GetParam(), 5, longer));
}

// [[1, 2], [2, 1]] has a positive diagonal and the eigenvalue -1; base 2 with l = 1 likewise. A
// long vector means a larger eigenvalue than l.
TEST(LinkWeight, RefusesMatricesThatAreNotPositiveDefiniteOrTooLarge) {
  const LinkWeightForm full{LinkWeightShape::full}, low_rank{LinkWeightShape::low_rank, 1},
      diagonal{LinkWeightShape::diagonal};
  const auto accepted = [](LinkWeightForm form, const std::vector<float>& numbers) {
    return LinkWeight::from_numbers(form, 2, numbers).value().is_positive_definite();
  };
  EXPECT_TRUE(accepted(full, {3, 2, 2}));
  EXPECT_FALSE(accepted(full, {1, 2, 1}));
  EXPECT_FALSE(accepted(full, {1, NAN, 1}));
  EXPECT_TRUE(accepted(full, {1e37f, 0, 1e37f}));
  EXPECT_FALSE(accepted(full, {1.1e37f, 0, 1}));
  EXPECT_FALSE(accepted(diagonal, {1.1e37f, 1}));
  EXPECT_TRUE(accepted(low_rank, {1, 2, 0.6f, 0.8f}));
  EXPECT_FALSE(accepted(low_rank, {2, 1, 0.6f, 0.8f}));
  EXPECT_FALSE(accepted(low_rank, {1, 2, 10, 0}));
  EXPECT_FALSE(accepted(low_rank, {1, 2, 1e25f, 0}));
}

// The squares of features in units of any size exceed the range of single precision, in which
// weights are sent.
TEST_P(EveryForm, IsPositiveDefiniteHoweverLargeOrSmallTheMatrix) {
  for (const double scale : {1e-25, 1e-20, 1e20, 1e25}) {
    Matrix matrix = positive_definite(5, 10);
    matrix.row(1) *= scale;
    matrix.col(1) *= scale;
    EXPECT_TRUE(LinkWeight(GetParam(), matrix).is_positive_definite()) << scale;
  }
}

TEST(LinkWeight, FormsKeepWhatTheyPromise) {
  const Matrix matrix = positive_definite(6, 1000);
  const auto error = [&](LinkWeightForm form) {
    return (dense(LinkWeight(form, matrix), 6) - matrix).norm() / matrix.norm();
  };
  EXPECT_LT(error({LinkWeightShape::full}), 1e-7);
  EXPECT_LT(error({LinkWeightShape::low_rank, 6}), 1e-6);
  const Matrix scalar = dense(LinkWeight({LinkWeightShape::scalar}, matrix), 6);
  EXPECT_NEAR(scalar(3, 3), matrix.trace() / 6, 1e-6 * matrix.trace());
  const Matrix diagonal = dense(LinkWeight({LinkWeightShape::diagonal}, matrix), 6);
  EXPECT_LT((diagonal.diagonal() - matrix.diagonal()).norm(), 1e-6 * matrix.norm());
}

// diag(1, 2, 8, 100) at rank 1 keeps 100; the others become (1*2*8)^(1/3).
TEST(LinkWeight, LowRankReplacesTheRestByItsGeometricMean) {
  const Matrix matrix = Vector{{1, 2, 8, 100}}.asDiagonal();
  const Matrix kept = dense(LinkWeight({LinkWeightShape::low_rank, 1}, matrix), 4);
  const double rest = std::cbrt(16.0);
  EXPECT_LT((kept - Matrix(Vector{{rest, rest, rest, 100}}.asDiagonal())).norm(), 1e-5);
}

// Q diag(l) Q' with a reflection Q = I - 2 v v' / v'v, l_k = k^2 for the last three and 1 / k for
// the others, of which two are equal: in 200 dimensions the Krylov space has 28.
TEST(LinkWeight, LowRankIsTheSameInManyDimensions) {
  constexpr Index dimension = 200, rank = 3;
  Vector values(dimension), kept_values = Vector::Zero(dimension), v(dimension);
  double log_sum = 0;
  for (Index k = 0; k < dimension; ++k) {
    v[k] = std::sin(1.0 + static_cast<double>(k));
    const bool largest = k >= dimension - rank;
    const auto number = static_cast<double>(k + 1);
    values[k] = largest ? number * number : 1 / std::max(2.0, number);
    if (!largest) log_sum += std::log(values[k]);
  }
  values[dimension - 2] = values[dimension - 1];  // an eigenspace of two dimensions
  kept_values.setConstant(std::exp(log_sum / (dimension - rank)));
  kept_values.tail(rank) = values.tail(rank);
  const Matrix reflection =
      Matrix::Identity(dimension, dimension) - 2 / v.squaredNorm() * (v * v.transpose());
  const Matrix matrix = reflection * values.asDiagonal() * reflection;
  const Matrix expected = reflection * kept_values.asDiagonal() * reflection;
  const LinkWeight weight({LinkWeightShape::low_rank, rank}, matrix);
  EXPECT_LT((dense(weight, dimension) - expected).norm(), 1e-6 * expected.norm());
  EXPECT_TRUE(weight.is_positive_definite());
  EXPECT_NEAR(std::log(static_cast<double>(weight.numbers()[0])), log_sum / (dimension - rank),
              1e-5);
}

}  // namespace
}  // namespace grove
