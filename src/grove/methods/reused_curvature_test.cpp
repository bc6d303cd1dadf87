#include "grove/methods/reused_curvature.h"

#include <numeric>

#include <gtest/gtest.h>
#include <Eigen/QR>

#include "grove/base/random.h"

namespace grove {
namespace {

constexpr Index dimension = 240;

Matrix random_matrix(std::uint64_t seed, Index columns) {
  KeyedRandom random(RandomKey{.seed = seed, .purpose = Purpose::synthetic});
  Matrix result(dimension, columns);
  for (double& entry : result.reshaped()) entry = random.normal();
  return result;
}

Vector random_vector(std::uint64_t seed) { return random_matrix(seed, 1); }

/// Eigenvalues from about 10 to 1000.
Matrix random_definite(std::uint64_t seed) {
  const Matrix root = random_matrix(seed, dimension);
  Matrix result = root * root.transpose();
  result.diagonal().array() += 10;
  return result;
}

std::vector<Index> all_coordinates() {
  std::vector<Index> face(dimension);
  std::iota(face.begin(), face.end(), Index{0});
  return face;
}

/// By Householder QR of the submatrix, which shares nothing with Cholesky or conjugate gradients.
Vector solved_by_qr(const Matrix& matrix, const std::vector<Index>& face, const Vector& right) {
  const Matrix part = matrix(face, face);
  Vector result = Vector::Zero(right.size());
  result(face) = part.colPivHouseholderQr().solve(Vector(right(face)));
  return result;
}

void expect_solves(const ReusedCurvature& curvature, const std::vector<Index>& face,
                   const Vector& right) {
  Vector found;
  curvature.solve(face, right, 1e-10, found);
  const Vector expected = solved_by_qr(curvature.matrix(), face, right);
  EXPECT_LT((found - expected).norm(), 1e-7 * expected.norm());
}

TEST(ReusedCurvature, SolvesOnAnyFaceAsTheWholeMatrixSays) {
  ReusedCurvature curvature;
  curvature.set(random_definite(1));
  const Vector right = random_vector(2);
  std::vector<Index> face = all_coordinates();
  expect_solves(curvature, face, right);
  EXPECT_EQ(curvature.factorizations(), 1u);
  face.erase(face.begin() + 7);
  face.pop_back();
  expect_solves(curvature, face, right);  // a smaller face than the factor's
  EXPECT_EQ(curvature.factorizations(), 1u);
  expect_solves(curvature, {2, 3, 5, 7, 11}, right);  // another face altogether
  EXPECT_EQ(curvature.factorizations(), 2u);
  expect_solves(curvature, {2, 3, 5, 7, 11, 13, 17}, right);  // so small that a factor costs less
  EXPECT_EQ(curvature.factorizations(), 3u);                  // than one step with all of M
}

TEST(ReusedCurvature, KeepsTheFactorThroughSmallChangesAndAnswersForTheNewMatrix) {
  ReusedCurvature curvature;
  const Matrix matrix = random_definite(3);
  curvature.set(matrix);
  expect_solves(curvature, all_coordinates(), random_vector(4));
  Matrix changed = matrix;
  changed.diagonal() *= 1.001;
  curvature.set(changed);
  expect_solves(curvature, all_coordinates(), random_vector(4));
  EXPECT_EQ(curvature.factorizations(), 1u);
  curvature.set(random_definite(5));
  expect_solves(curvature, all_coordinates(), random_vector(4));
  EXPECT_EQ(curvature.factorizations(), 2u);
}

TEST(ReusedCurvature, SavingAndLoadingKeepsTheFactorBitForBit) {
  ReusedCurvature original, copy;
  Matrix matrix = random_definite(6);
  original.set(matrix);
  Vector expected, found;
  original.solve(all_coordinates(), random_vector(7), 1e-10, expected);
  matrix.diagonal() *= 1.001;
  original.set(matrix);
  ByteWriter writer;
  original.save(writer);
  ByteReader reader(writer.bytes());
  copy.load(reader, dimension);
  ASSERT_TRUE(reader.finished());
  original.solve(all_coordinates(), random_vector(8), 1e-6, expected);
  copy.solve(all_coordinates(), random_vector(8), 1e-6, found);
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace grove
