#include <gtest/gtest.h>
#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include "grove/problem/naive_problem.h"

namespace grove {
namespace {

using naive::Problem;

Matrix matrix_of(const Problem::Sums& sums) {
  const auto size = static_cast<Index>(sums.hessian.size());
  Matrix matrix(size, size);
  for (Index row = 0; row < size; ++row)
    for (Index column = 0; column < size; ++column)
      matrix(row, column) = static_cast<double>(sums.hessian[row][column]);
  return matrix;
}

// Against the Hessian by plain loops: how far it is off where every direction counts the same.
TEST(Sketch, IsNearTheHessianWithItsDiagonalFromAQuarterOfTheSamples) {
  const Problem problem =
      naive::random_problem({.rows = 4000, .features = 12}, {.l2 = 0.01, .intercept = true});
  const Vector x = naive::random_point(13, 0.5, 3);
  const Matrix want = matrix_of(problem.at(x));
  ObjectiveScratch scratch;
  Matrix found;
  const Index taken = problem.objective(false)->sketch_hessian(x, 1000, found, scratch);
  EXPECT_NEAR(static_cast<double>(taken), 1000, 20);
  EXPECT_EQ(found, Matrix(found.transpose()));
  EXPECT_TRUE((found.diagonal().array() >= want.diagonal().array() * (1 - 1e-12)).all());
  const Matrix root = want.llt().matrixL().solve(Matrix::Identity(13, 13));
  const Vector eigenvalues =
      (root * found * root.transpose()).selfadjointView<Eigen::Lower>().eigenvalues();
  EXPECT_GT(eigenvalues.minCoeff(), 0.7);
  EXPECT_LT(eigenvalues.maxCoeff(), 1.4);
}

// A column that no sample of the sketch has keeps its diagonal.
TEST(Sketch, TakesTheSamplesOfLargeSecondDerivativeAndForgetsNoColumn) {
  Problem problem = naive::random_problem({.rows = 400, .features = 6}, {});
  for (std::uint32_t row = 0; row < 400; ++row) {
    problem.rows[row][4] = row < 40 ? 0 : 40;  // where the logistic loss is nearly linear
    problem.rows[row][5] = row == 201 ? 1e-3 : 0;
  }
  Vector x = naive::random_point(6, 0.1, 4);
  x[4] = 1;
  const Matrix want = matrix_of(problem.at(x));
  ObjectiveScratch scratch;
  Matrix found;
  problem.objective(false)->sketch_hessian(x, 60, found, scratch);
  EXPECT_LT((found - want).norm(), 1e-9 * want.norm());
  EXPECT_NEAR(found(5, 5) / want(5, 5), 1, 1e-9);
}

TEST(Sketch, IsTheHessianWhereThatIsAsGood) {
  struct Case {
    Loss loss;
    bool sparse;
    Index samples_to_take;
  };
  for (const Case& one : {Case{SquaredLoss{}, false, 10}, Case{LogisticLoss{}, true, 10},
                          Case{LogisticLoss{}, false, 300}}) {
    const Problem problem =
        naive::random_problem({.rows = 300, .features = 4}, {.loss = one.loss, .l2 = 0.1});
    const Vector x = naive::random_point(4, 0.3, 5);
    ObjectiveScratch scratch;
    Matrix found;
    EXPECT_EQ(problem.objective(one.sparse)->sketch_hessian(x, one.samples_to_take, found, scratch),
              300);
    const Matrix want = matrix_of(problem.at(x));
    EXPECT_LT((found - want).norm(), 1e-12 * want.norm());
  }
}

}  // namespace
}  // namespace grove
