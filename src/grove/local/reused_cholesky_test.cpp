#include "grove/local/reused_cholesky.h"

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
  std::vector<Index> free_set(dimension);
  std::iota(free_set.begin(), free_set.end(), Index{0});
  return free_set;
}

/// By Householder QR of the submatrix, which shares nothing with Cholesky or conjugate gradients.
Vector solved_by_qr(const Matrix& matrix, const std::vector<Index>& free_set, const Vector& right) {
  const Matrix part = matrix(free_set, free_set);
  Vector result = Vector::Zero(right.size());
  result(free_set) = part.colPivHouseholderQr().solve(Vector(right(free_set)));
  return result;
}

void expect_solves(const ReusedCholesky& cholesky, const std::vector<Index>& free_set,
                   const Vector& right) {
  Vector found;
  cholesky.solve(free_set, right, 1e-10, found);
  const Vector expected = solved_by_qr(cholesky.matrix(), free_set, right);
  EXPECT_LT((found - expected).norm(), 1e-7 * expected.norm());
}

TEST(ReusedCholesky, SolvesTheSystemOfAnyFreeSet) {
  ReusedCholesky cholesky;
  cholesky.set(random_definite(1));
  const Vector right = random_vector(2);
  std::vector<Index> free_set = all_coordinates();
  expect_solves(cholesky, free_set, right);
  EXPECT_EQ(cholesky.factorizations(), 1u);
  free_set.erase(free_set.begin() + 7);
  free_set.pop_back();
  expect_solves(cholesky, free_set, right);  // a smaller free set than the factor's
  EXPECT_EQ(cholesky.factorizations(), 1u);
  expect_solves(cholesky, {2, 3, 5, 7, 11}, right);  // a very different free set
  EXPECT_EQ(cholesky.factorizations(), 2u);
  expect_solves(cholesky, {2, 3, 5, 7, 11, 13, 17}, right);  // so small that a factor costs less
  EXPECT_EQ(cholesky.factorizations(), 3u);                  // than one step with all of M
}

/// The free set after a few coordinates have entered or left it.
std::vector<Index> changed_free_set(const std::vector<Index>& free_set, std::uint64_t seed,
                                    int changes) {
  KeyedRandom random(RandomKey{.seed = seed, .purpose = Purpose::synthetic});
  std::vector<bool> inside(dimension);
  for (const Index k : free_set) inside[k] = true;
  for (int change = 0; change < changes; ++change) {
    const auto k = static_cast<Index>(random.below(dimension));
    inside[k] = !inside[k];
  }
  std::vector<Index> result;
  for (Index k = 0; k < dimension; ++k)
    if (inside[k]) result.push_back(k);
  return result;
}

// Coordinates enter, leave and enter again; more of them in all than are kept at once.
TEST(ReusedCholesky, OneFactorServesAllFreeSetsNearItsOwn) {
  ReusedCholesky cholesky;
  cholesky.set(random_definite(9));
  const std::vector<Index> free_set = changed_free_set(all_coordinates(), 1, 80);
  expect_solves(cholesky, free_set, random_vector(10));
  for (std::uint64_t seed = 2; seed < 40; ++seed)
    expect_solves(cholesky, changed_free_set(free_set, seed, 1 + static_cast<int>(seed) % 12),
                  random_vector(seed));
  EXPECT_EQ(cholesky.factorizations(), 1u);
  expect_solves(cholesky, changed_free_set(free_set, 50, 60), random_vector(51));
  EXPECT_EQ(cholesky.factorizations(), 2u);
}

// The coordinate that enters is nearly a copy of another: a border would be singular to rounding.
TEST(ReusedCholesky, ANewFactorIsComputedWhereBordersFail) {
  ReusedCholesky cholesky;
  Matrix matrix = random_definite(11);
  matrix.row(5) = matrix.row(9);
  matrix.col(5) = matrix.col(9);
  matrix(5, 5) = matrix(9, 9) * (1 + 1e-13);
  cholesky.set(matrix);
  std::vector<Index> free_set = all_coordinates();
  free_set.erase(free_set.begin() + 5);
  expect_solves(cholesky, free_set, random_vector(12));
  Vector found;
  cholesky.solve(all_coordinates(), random_vector(12), 1e-10, found);
  EXPECT_EQ(cholesky.factorizations(), 2u);
  EXPECT_TRUE(found.allFinite());
}

TEST(ReusedCholesky, KeepsTheFactorThroughSmallChangesAndSolvesWithTheNewMatrix) {
  ReusedCholesky cholesky;
  const Matrix matrix = random_definite(3);
  cholesky.set(matrix);
  expect_solves(cholesky, all_coordinates(), random_vector(4));
  Matrix changed = matrix;
  changed.diagonal() *= 1.001;
  cholesky.set(changed);
  expect_solves(cholesky, all_coordinates(), random_vector(4));
  EXPECT_EQ(cholesky.factorizations(), 1u);
  cholesky.set(random_definite(5));
  expect_solves(cholesky, all_coordinates(), random_vector(4));
  EXPECT_EQ(cholesky.factorizations(), 2u);
}

TEST(ReusedCholesky, SavingAndLoadingKeepsTheFactorBitForBit) {
  ReusedCholesky original, copy;
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
