#include "grove/coupling/regularizer_copy.h"

#include <gtest/gtest.h>

namespace grove {
namespace {

Vector vector_of(double first, double second) {
  Vector result(2);
  result << first, second;
  return result;
}

void expect_near(const Vector& found, const Vector& expected) {
  EXPECT_LT((found - expected).norm(), 1e-15)
      << found.transpose() << " instead of " << expected.transpose();
}

Vector gradient_at(const RegularizerCopy& theta, const Vector& x) {
  Vector gradient = Vector::Zero(2);
  theta.add_gradient(x, gradient);
  return gradient;
}

// r = 0.5 |x|_1, n = 2, mu_theta = 4: prox_{n r / mu} is soft-thresholding at 2 * 0.5 / 4 = 0.25.
// theta = lambda = 0, then x = (1, 0.1) three times, by hand:
//   1. prox of (1, 0.1)    = (0.75, 0)     lambda = 4 (0.25, 0.1)           = (1, 0.4)
//   2. prox of (1.25, 0.2) = (1, 0)        lambda = (1, 0.4) + 4 (0, 0.1)   = (1, 0.8)
//   3. prox of (1.25, 0.3) = (1, 0.05)     lambda = (1, 0.8) + 4 (0, 0.05)  = (1, 1)
// and then lambda = n l1 = 1 is the subgradient of n r where theta is positive.
TEST(RegularizerCopy, FollowsTheNumbersWorkedOutByHand) {
  RegularizerCopy theta({.l1 = 0.5, .regularized = 2}, 4, 2, Vector::Zero(2));
  EXPECT_EQ(theta.penalty(), 4);
  const Vector x = vector_of(1, 0.1);
  Vector buffer;
  // gradient at x = lambda + mu (x - theta)
  expect_near(gradient_at(theta, x), vector_of(4, 0.4));

  theta.update(x, buffer);
  expect_near(theta.value(), vector_of(0.75, 0));
  expect_near(gradient_at(theta, vector_of(2, 0)), vector_of(1 + 4 * 1.25, 0.4));

  theta.update(x, buffer);
  expect_near(theta.value(), vector_of(1, 0));
  expect_near(gradient_at(theta, theta.value()), vector_of(1, 0.8));

  theta.update(x, buffer);
  expect_near(theta.value(), vector_of(1, 0.05));
  expect_near(gradient_at(theta, theta.value()), vector_of(1, 1));
}

// The box [-1, 0.5] does not scale with n: theta is the projection of x + lambda / mu.
TEST(RegularizerCopy, ProjectsOntoABox) {
  RegularizerCopy theta({.low = -1, .high = 0.5, .regularized = 2}, 2, 10, Vector::Zero(2));
  Vector buffer;
  theta.update(vector_of(3, -0.25), buffer);
  expect_near(theta.value(), vector_of(0.5, -0.25));
  expect_near(gradient_at(theta, theta.value()), vector_of(5, 0));
}

TEST(RegularizerCopy, AddsToTheGradientThatIsGiven) {
  const RegularizerCopy theta({.l1 = 1, .regularized = 2}, 3, 1, vector_of(1, 1));
  Vector gradient = vector_of(10, 20);
  theta.add_gradient(vector_of(2, 1), gradient);
  expect_near(gradient, vector_of(13, 20));
}

TEST(RegularizerCopy, SavedStateContinuesExactly) {
  const Regularizer r{.l1 = 0.5, .regularized = 2};
  RegularizerCopy original(r, 4, 2, Vector::Zero(2)), loaded(r, 4, 2, Vector::Zero(2));
  Vector buffer;
  original.update(vector_of(1, 0.1), buffer);
  ByteWriter writer;
  original.save(writer);
  ByteReader reader(writer.bytes());
  loaded.load(reader);
  EXPECT_TRUE(reader.finished());
  EXPECT_EQ(loaded.value(), original.value());
  EXPECT_EQ(gradient_at(loaded, vector_of(3, 4)), gradient_at(original, vector_of(3, 4)));
}

}  // namespace
}  // namespace grove
